-- A run (?1), for whoever has been judged.
SELECT * FROM task_run_documents WHERE id = ?1
