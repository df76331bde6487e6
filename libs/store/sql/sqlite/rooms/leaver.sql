-- A member who is to go, and who becomes owner then: nobody while another owner stays, else the person of
-- longest standing, one who is not disabled before all who are. No row when they are not in the room.
-- ?1 room, ?2 member, ?3 what they are
SELECT
    CASE WHEN leaver.role = 'owner' AND NOT EXISTS (
        SELECT 1
        FROM members AS owner
        WHERE owner.room_id = ?1 AND owner.member_id <> ?2 AND owner.role = 'owner'
    ) THEN (
        SELECT heir.member_id
        FROM members AS heir
        JOIN users ON users.id = heir.member_id
        WHERE heir.room_id = ?1 AND heir.member_id <> ?2 AND heir.member_kind = 'user'
        ORDER BY users.disabled_at IS NOT NULL, heir.joined_at, heir.member_id
        LIMIT 1
    ) END AS heir
FROM members AS leaver
WHERE leaver.room_id = ?1 AND leaver.member_id = ?2 AND leaver.member_kind = ?3
