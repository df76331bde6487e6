-- Removes nodes that are silent for too long.
-- ?1 most at once, ?2 since when
DELETE FROM nodes WHERE id IN (SELECT id FROM nodes WHERE seen_at < ?2 LIMIT ?1)
