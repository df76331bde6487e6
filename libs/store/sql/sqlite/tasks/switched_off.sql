-- Whether something (?1) is off: a row if so.
SELECT 1 FROM cluster_switches WHERE name = ?1 AND NOT enabled
