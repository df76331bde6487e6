-- Takes a handle (?1) for a person or an agent (?2), unless somebody has it.
INSERT INTO handles (handle, owner_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING
