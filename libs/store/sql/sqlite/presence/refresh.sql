-- Refreshes rows; gives back those that were there.
-- ?1 connections, ?2 time
UPDATE gateway_presence SET updated_at = ?2 WHERE connection_id IN rarray(?1) RETURNING connection_id
