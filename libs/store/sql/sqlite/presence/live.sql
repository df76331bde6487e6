-- The live connections of people, of each device the one of the highest epoch.
-- ?1 people, ?2 when rows were refreshed last that are live no more, ?3 time
SELECT user_id, connection_id, device_id, device_kind, idle, focused_room_id
FROM (
    SELECT
        user_id, connection_id, device_id, device_kind, idle, focused_room_id,
        row_number() OVER (PARTITION BY coalesce(device_id, connection_id) ORDER BY epoch DESC) AS nth
    FROM gateway_presence
    WHERE user_id IN rarray(?1)
        AND CASE WHEN resumable_until IS NULL THEN updated_at > ?2 ELSE resumable_until > ?3 END
)
WHERE nth = 1
