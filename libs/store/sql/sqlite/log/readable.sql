-- Head and floor of a stream (?3) of a kind (?4), if a person or an agent (?1, ?2 what they are) may read it: it is theirs, or of a room
-- that they are in. An agent reads while its owner may.
SELECT streams.head, streams.floor
FROM streams
LEFT JOIN agents ON agents.id = ?1
JOIN users ON users.id = coalesce(agents.owner_id, ?1)
WHERE streams.id = ?3 AND streams.kind = ?4
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
    AND (
        (streams.id = ?1 AND streams.kind = ?2)
        OR EXISTS (
            SELECT 1
            FROM members
            WHERE members.room_id = streams.id AND members.member_id = ?1 AND members.member_kind = ?2
        )
    )
