-- Makes an agent: ?1 id, ?2 owner, ?3 handle, ?4 display name, ?5 runs at one time, ?6 id and ?7 hash of its token, ?8 time.
INSERT INTO agents (id, owner_id, handle, display_name, max_runs, token_id, token_hash, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
