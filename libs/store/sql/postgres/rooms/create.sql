-- Creates a room with its stream. No row, and nothing written, when the pair has a dm already: the unique index
-- decides between two who ask at once.
-- $1 room, $2 kind, $3 name, $4 pair of a dm, $5 creator
WITH room AS (
    INSERT INTO rooms (id, kind, name, dm_pair, created_by)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (dm_pair) DO NOTHING
    RETURNING id
)
INSERT INTO streams (id, kind)
SELECT id, 'room' FROM room
RETURNING id
