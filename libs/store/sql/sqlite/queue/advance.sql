-- The line remembers how far it has come, so that who comes new does not come before those who wait.
-- ?1 runs that were claimed (an array)
UPDATE task_turn SET turn = max(turn, (SELECT max(turn) FROM task_queue WHERE id IN rarray(?1)))
