-- Gives an agent (?2) its handle (?1).
INSERT INTO handles (handle, owner_id) VALUES (?1, ?2)
