-- A task (?1) of which a run is asked for, and whether its hook is listened to. No row: it is gone.
SELECT tasks.owner_id, tasks.cost, tasks.is_active AND owner.disabled_at IS NULL AS listens
FROM tasks
JOIN users AS owner ON owner.id = tasks.owner_id
WHERE tasks.id = ?1 AND tasks.deleted_at IS NULL
