-- Signing keys of installations that keep them in the database (signing_key.driver = "postgres").

-- How often the list of keys was replaced: each writer raises it from what it saw, so of two one does nothing.
CREATE TABLE signing_manifest (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    revision   bigint NOT NULL CHECK (revision >= 0),
    written_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO signing_manifest (revision) VALUES (0);

CREATE TABLE signing_keys (
    kid        text PRIMARY KEY CHECK (kid ~ '^[A-Za-z0-9-]{1,64}$'),
    created_at timestamptz NOT NULL,
    -- From when on it signs, until a later one does.
    signs_from timestamptz NOT NULL,
    -- Taken out before it signed.
    withdrawn  boolean NOT NULL,
    -- Since when it signs no more, as somebody noted who saw it so.
    retired_at timestamptz,
    -- The longest that a token signed with it can be good, in microseconds.
    token_life bigint NOT NULL CHECK (token_life >= 0),
    made_by    text NOT NULL,
    -- The private part: AES-256-GCM under the seal key, which is not in the database.
    sealed     bytea NOT NULL
);
