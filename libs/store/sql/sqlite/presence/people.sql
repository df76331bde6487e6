-- How people (?1) are noted.
SELECT user_id, status, version FROM user_presence WHERE user_id IN rarray(?1) ORDER BY user_id
