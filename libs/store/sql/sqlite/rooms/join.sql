-- Makes a person or an agent a member.
-- ?1 room, ?2 member, ?3 what they are, ?4 role, ?5 what they have read, ?6 time
INSERT INTO members (room_id, member_id, member_kind, role, last_read, joined_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
