-- The newest run of a task (?1) that is one too many, when so many (?2) are kept.
SELECT id FROM task_runs WHERE task_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2
