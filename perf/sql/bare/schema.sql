-- The least that keeps a message.
CREATE TABLE bare_messages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    body text NOT NULL
)
