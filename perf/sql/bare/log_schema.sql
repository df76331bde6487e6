-- A table with the columns and indexes of the log (events), for what they cost by themselves.
CREATE TABLE bare_log (
    stream_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    sender_kind text NOT NULL CHECK (sender_kind IN ('user', 'agent', 'system')),
    sender_id uuid,
    nonce text,
    data json NOT NULL,
    trace text,
    PRIMARY KEY (stream_id, seq)
);
CREATE UNIQUE INDEX bare_log_id ON bare_log (id);
CREATE UNIQUE INDEX bare_log_nonce ON bare_log (stream_id, sender_id, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX bare_log_at ON bare_log USING brin (at);
CREATE INDEX bare_log_about ON bare_log ((data ->> 'event_id')) WHERE kind = 'message.edited';
CREATE INDEX bare_log_requested ON bare_log ((data ->> 'run_id')) WHERE kind = 'run.requested';
