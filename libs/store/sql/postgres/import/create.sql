-- How far an import is. It is there while one is under way: no node starts then, and nobody migrates.
CREATE TABLE import_progress (
    -- The order of loading.
    place    integer PRIMARY KEY,
    name     text NOT NULL UNIQUE,
    -- SHA-256 of the manifest: which export it is.
    export   bytea NOT NULL,
    -- What of the table's file was loaded.
    rows     bigint NOT NULL DEFAULT 0,
    bytes    bigint NOT NULL DEFAULT 0,
    -- It was read again, and is what was exported.
    compared boolean NOT NULL DEFAULT false
)
