-- Edits a task, if it has the version that the edit was made from. Runs that are queued get its new cost with their next attempt.
-- ?1 id, ?2 version, ?3 name, ?4 schedule, ?5 zone, ?6 anchor, ?7 action, ?8 room, ?9 active, ?10 cost, ?11 longest run in ms, ?12 retries,
-- ?13 misfire, ?14 next tick, ?15 key of its webhook (or null for the one it has), ?16 whether it is planned anew, ?17 time
UPDATE tasks
SET name = ?3, schedule = ?4, timezone = ?5, anchor = ?6, action = ?7, room_id = ?8, is_active = ?9, cost = ?10,
    max_runtime_ms = ?11, retries = ?12, misfire = ?13, planned_for = CASE WHEN ?16 THEN ?14 ELSE planned_for END,
    planned_by = CASE WHEN ?16 THEN version + 1 ELSE planned_by END, webhook_key = coalesce(?15, webhook_key),
    version = version + 1, updated_at = ?17
WHERE id = ?1 AND version = ?2 AND deleted_at IS NULL
RETURNING owner_id
