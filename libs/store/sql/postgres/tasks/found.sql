-- A run, for whoever has been judged.
-- $1 run
SELECT * FROM task_run_documents WHERE id = $1
