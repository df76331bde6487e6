-- Says that the rows of presence are looked after. When nobody did for half of the time that a row lives, or the tables were emptied, it
-- begins anew: rows may be missing, or too old, for no fault of their connections. Rarely writes, so that it may be called often.
-- ?1 time, ?2 half of a row's life before it, ?3 a tenth of it before it
INSERT INTO presence_epoch AS known (only_row, since, watched_at)
VALUES (1, ?1, ?1)
ON CONFLICT (only_row) DO UPDATE
SET since = CASE WHEN known.watched_at <= ?2 THEN ?1 ELSE known.since END, watched_at = ?1
WHERE known.watched_at <= ?3
