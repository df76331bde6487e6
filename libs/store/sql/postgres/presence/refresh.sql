-- Refreshes rows; gives back those that were there.
-- $1 connections
UPDATE gateway_presence
SET updated_at = clock_timestamp()
WHERE connection_id = ANY ($1::uuid[])
RETURNING connection_id
