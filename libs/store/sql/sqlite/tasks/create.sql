-- Makes a task, once for its id.
-- ?1 id, ?2 owner, ?3 name, ?4 schedule, ?5 zone, ?6 anchor, ?7 action, ?8 room, ?9 active, ?10 cost, ?11 longest run in ms, ?12 retries,
-- ?13 misfire, ?14 first tick, ?15 hash, ?16 signature and ?17 key of its hook, ?18 key of its webhook, ?19 time
INSERT INTO tasks (
    id, owner_id, name, schedule, timezone, anchor, action, room_id, is_active, cost, max_runtime_ms, retries, misfire,
    planned_for, hook_hash, hook_signature, hook_key, webhook_key, created_at, updated_at
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?19)
ON CONFLICT (id) DO NOTHING
