-- A connection ends with the access token it came by, also when a ticket lies between the two.
-- Null in tickets of the previous release, which did not know: they count as made with a fresh token.
ALTER TABLE tickets ADD COLUMN token_expires_at timestamptz;
