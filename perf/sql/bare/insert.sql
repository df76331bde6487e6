-- Keeps messages, all in one commit.
-- $1 bodies
INSERT INTO bare_messages (body) SELECT given.body FROM unnest($1::text[]) AS given (body)
