-- The live connections of people, of each device the one of the highest epoch, and in how many microseconds the table is settled: one row
-- without a connection when there is none.
-- $1 people, $2 how long a row lives, in microseconds
SELECT state.settles_in, live.user_id, live.connection_id, live.device_id, live.device_kind, live.idle, live.focused_room_id
FROM (
    SELECT
        CASE
            WHEN watched_at > now() - $2::bigint * interval '1 microsecond' / 2 THEN greatest(0, extract(
                epoch FROM greatest(since, pg_postmaster_start_time()) - now() + $2::bigint * interval '1 microsecond'
            ) * 1000000)::bigint
            -- Nobody looks after it, or it was emptied a moment ago.
            ELSE $2::bigint
        END AS settles_in
    FROM (VALUES (true)) AS one (only_row)
    LEFT JOIN presence_epoch USING (only_row)
) AS state
LEFT JOIN (
    SELECT DISTINCT ON (coalesce(device_id, connection_id))
        user_id, connection_id, device_id, device_kind, idle, focused_room_id
    FROM gateway_presence
    WHERE user_id = ANY ($1::uuid[])
        AND CASE
            WHEN resumable_until IS NULL THEN updated_at > now() - $2::bigint * interval '1 microsecond'
            ELSE resumable_until > now()
        END
    ORDER BY coalesce(device_id, connection_id), epoch DESC
) AS live ON true
