-- Moves the cursor of a place (?1) to a seq (?2).
UPDATE agent_consumer_cursors SET cursor = ?2 WHERE id = ?1
