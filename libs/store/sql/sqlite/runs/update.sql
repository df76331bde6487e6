-- A run (?1) without its document, for those who follow it.
SELECT
    id, room_id, agent_id, epoch, version, status, reason, cancel_requested_at IS NOT NULL AS cancel_requested,
    (
        SELECT max(consumer.live_until)
        FROM agent_consumer_cursors AS consumer
        WHERE consumer.agent_id = runs.agent_id
    ) AS agent_live_until
FROM runs
WHERE id = ?1
