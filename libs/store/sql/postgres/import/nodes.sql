-- Nodes that were heard of within the last minute.
SELECT role || ' ' || name AS node FROM nodes WHERE seen_at > clock_timestamp() - interval '1 minute' ORDER BY role, name
