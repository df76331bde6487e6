-- Locks a device ($2) of a person ($1) to be deleted: an attempt on its slot that came first is over then,
-- and one that comes later finds no device.
SELECT id FROM devices WHERE user_id = $1 AND id = $2 FOR UPDATE
