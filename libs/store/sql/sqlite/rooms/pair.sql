-- The two people of a dm; a row without a pair for a group, none for a room that is not there. It never changes.
-- ?1 room
SELECT dm_pair FROM rooms WHERE id = ?1
