-- Counts the runs (?2) of a task (?1) that the history no longer has.
UPDATE tasks SET forgotten_runs = forgotten_runs + ?2 WHERE id = ?1
