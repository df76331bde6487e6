-- Notes how a person is seen, and gives it back when that is a change. Who was never there is not noted as offline.
-- ?1 person, ?2 how they are seen, ?3 whether every connection is known; else nobody is noted as less than they were
INSERT INTO user_presence AS noted (user_id, status, version)
SELECT ?1, ?2, 1
WHERE ?2 <> 'offline' OR EXISTS (SELECT 1 FROM user_presence AS known WHERE known.user_id = ?1)
ON CONFLICT (user_id) DO UPDATE
SET status = excluded.status, version = noted.version + 1
WHERE noted.status <> excluded.status AND (?3 OR noted.status = 'offline' OR excluded.status = 'online')
RETURNING user_id, status, version
