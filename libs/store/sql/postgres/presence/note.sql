-- Notes how people are seen, and gives back those for whom that is a change. Who was never there is not noted as offline.
-- $1 people, $2 how they are seen, $3 whether every connection is known; else nobody is noted as less than they were
INSERT INTO user_presence AS noted (user_id, status, version)
SELECT seen.id, seen.status, 1
FROM unnest($1::uuid[], $2::text[]) AS seen (id, status)
WHERE seen.status <> 'offline'
    OR seen.id IN (SELECT user_id FROM user_presence WHERE user_id = ANY ($1::uuid[]))
ORDER BY seen.id
ON CONFLICT (user_id) DO UPDATE
SET status = excluded.status, version = noted.version + 1
WHERE noted.status <> excluded.status
    AND ($3 OR noted.status = 'offline' OR excluded.status = 'online')
RETURNING user_id, status, version
