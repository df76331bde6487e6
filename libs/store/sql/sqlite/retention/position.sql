-- Between which numbers a stream (?1) holds events.
SELECT floor, head FROM streams WHERE id = ?1
