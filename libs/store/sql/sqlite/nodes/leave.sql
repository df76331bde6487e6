-- A node (?1) stopped cleanly.
DELETE FROM nodes WHERE id = ?1
