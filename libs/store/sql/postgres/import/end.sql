-- The import is over: nodes may start. Its notes stay, to say which export it was.
ALTER TABLE import_progress RENAME TO import_ended
