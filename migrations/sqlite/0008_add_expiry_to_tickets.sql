-- A connection ends with the access token it came by, also when a ticket lies between the two.
ALTER TABLE tickets ADD COLUMN token_expires_at INTEGER;
