-- Makes a notification, unless the person was notified of the same thing before.
-- ?1 id, ?2 person, ?3 kind, ?4 room, ?5 seq, ?6 message, run or tool call, ?7 sender kind, ?8 sender, ?9 time
INSERT INTO notifications (id, user_id, kind, room_id, seq, source_id, sender_kind, sender_id, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (user_id, source_id) DO NOTHING
