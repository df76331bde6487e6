-- Makes the inbox of an agent (?1).
INSERT INTO streams (id, kind) VALUES (?1, 'agent')
