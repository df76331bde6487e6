-- Creates the inbox of a person (?1).
INSERT INTO streams (id, kind) VALUES (?1, 'user')
