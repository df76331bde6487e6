-- Mutes or unmutes a room for a person; null leaves it. Writes a row when they are in the room and not disabled.
-- ?1 room, ?2 person, ?3 muted
UPDATE members
SET muted = coalesce(?3, muted)
WHERE room_id = ?1 AND member_id = ?2 AND member_kind = 'user'
    AND EXISTS (SELECT 1 FROM users WHERE users.id = ?2 AND users.disabled_at IS NULL)
