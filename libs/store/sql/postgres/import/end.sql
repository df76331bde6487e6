-- The import is over: nodes may start.
DROP TABLE import_progress
