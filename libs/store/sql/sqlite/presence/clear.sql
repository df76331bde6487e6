-- Removes rows of people: those of connections that are gone, those that are live no more, and those of devices that have a row of a higher
-- epoch.
-- ?1 people, ?2 connections that are gone, ?3 when rows were refreshed last that are live no more, ?4 time
DELETE FROM gateway_presence
WHERE user_id IN rarray(?1)
    AND (
        connection_id IN rarray(?2)
        OR CASE WHEN resumable_until IS NULL THEN updated_at <= ?3 ELSE resumable_until <= ?4 END
        OR EXISTS (
            SELECT 1
            FROM gateway_presence AS newer
            WHERE newer.user_id = gateway_presence.user_id AND newer.device_id = gateway_presence.device_id
                AND newer.epoch > gateway_presence.epoch
        )
    )
