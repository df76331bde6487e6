-- What may have been there before a creating call: what its key made, a room of this id by the same creator (a call
-- repeated after a lost answer), the dm of the pair. One row.
-- ?1 creator, ?2 key, ?3 room, ?4 pair
SELECT
    used.subject,
    used.created_id,
    (SELECT id FROM rooms WHERE id = ?3 AND created_by = ?1) AS repeated,
    (SELECT id FROM rooms WHERE dm_pair = ?4) AS dm
FROM (SELECT 1) AS one
LEFT JOIN idempotency_keys AS used ON used.user_id = ?1 AND used.key = ?2
