-- Lets one at a time change rows of people and judge how they are seen: what is looked at after this lock is newer than what the one before
-- wrote.
-- $1 people
SELECT user_id FROM user_presence WHERE user_id = ANY ($1::uuid[]) ORDER BY user_id FOR NO KEY UPDATE
