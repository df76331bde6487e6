-- Signing keys of installations that keep them in the database.

-- How often the list of keys was replaced: each writer raises it from what it saw, so of two one does nothing.
CREATE TABLE signing_manifest (
    only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
    revision   INTEGER NOT NULL CHECK (revision >= 0),
    written_at INTEGER NOT NULL
) STRICT;
INSERT INTO signing_manifest (only_row, revision, written_at) VALUES (1, 0, unixepoch() * 1000000);

CREATE TABLE signing_keys (
    kid        TEXT PRIMARY KEY CHECK (length(kid) BETWEEN 1 AND 64 AND kid NOT GLOB '*[^A-Za-z0-9-]*'),
    created_at INTEGER NOT NULL,
    -- From when on it signs, until a later one does.
    signs_from INTEGER NOT NULL,
    -- Taken out before it signed.
    withdrawn  INTEGER NOT NULL CHECK (withdrawn IN (0, 1)),
    -- Since when it signs no more, as somebody noted who saw it so.
    retired_at INTEGER,
    -- The longest that a token signed with it can be good, in microseconds.
    token_life INTEGER NOT NULL CHECK (token_life >= 0),
    made_by    TEXT NOT NULL,
    -- The private part: AES-256-GCM under the seal key, which is not in the database.
    sealed     BLOB NOT NULL
) STRICT;
