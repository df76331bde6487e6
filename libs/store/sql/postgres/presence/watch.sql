-- Says that the rows of presence are looked after. When nobody did for half of the time that a row lives, or the tables were emptied, it
-- begins anew: rows may be missing, or too old, for no fault of their connections. Rarely writes, so that many nodes may call it often.
-- $1 how long a row lives, in microseconds
INSERT INTO presence_epoch AS known (since, watched_at)
VALUES (clock_timestamp(), clock_timestamp())
ON CONFLICT (only_row) DO UPDATE
SET since = CASE
        WHEN known.watched_at <= clock_timestamp() - $1::bigint * interval '1 microsecond' / 2 THEN clock_timestamp()
        ELSE known.since
    END,
    watched_at = clock_timestamp()
WHERE known.watched_at <= clock_timestamp() - $1::bigint * interval '1 microsecond' / 10
