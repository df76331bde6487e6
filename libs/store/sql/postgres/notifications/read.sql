-- Marks notifications of a person as read, under the lock of their stream: those that are named, or all up to one (null: all), of a room
-- (null: of all).
-- $1 person, $2 ids, $3 room, $4 up to
UPDATE notifications
SET read_at = clock_timestamp()
WHERE user_id = $1 AND read_at IS NULL AND withdrawn_at IS NULL
    AND ($2::uuid[] IS NULL OR id = ANY ($2))
    AND ($3::uuid IS NULL OR room_id = $3)
    AND ($4::uuid IS NULL OR id <= $4)
RETURNING id
