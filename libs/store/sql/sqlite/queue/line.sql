-- How far the line has come: the turn of the newest run that was claimed. One row.
SELECT turn FROM task_turn
