-- What the server says of itself, for whoever looks into an installation.
SELECT
    current_setting('server_version') AS version,
    current_setting('server_version_num')::integer AS version_number,
    current_setting('max_connections')::integer AS most_connections,
    -- Not from pg_stat_activity, which does not tell everybody what sessions of others are.
    (SELECT coalesce(sum(numbackends), 0)::bigint FROM pg_stat_database) AS connections,
    pg_notification_queue_usage() AS notification_queue,
    clock_timestamp() AS now
