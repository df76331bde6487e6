-- Removes runs of a task that the history need not keep, the oldest first: those up to one that is too many, and old ones.
-- The time in a run's id is that of its tick, which is never after its end: so the old ones lie in front.
-- ?1 task, ?2 the newest that is too many, ?3 what is old has an id before this, ?4 and was over before that time, ?5 where to stop looking, ?6 limit
DELETE FROM task_runs
WHERE id IN (
    SELECT id
    FROM task_runs
    WHERE task_id = ?1 AND id <= ?5 AND (id <= ?2 OR (id < ?3 AND finished_at < ?4))
    ORDER BY id
    LIMIT ?6
)
