-- Of these tasks (?1, an array) those of which a run is ready or running.
SELECT task_id FROM task_queue WHERE task_id IN rarray(?1) AND state IN ('ready', 'running')
