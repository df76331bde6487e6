-- How far the import is that is under way.
SELECT name, export, rows, bytes, compared FROM import_progress ORDER BY place
