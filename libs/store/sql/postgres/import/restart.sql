-- Notes that the table $1 is to be loaded from its beginning.
UPDATE import_progress SET rows = 0, bytes = 0, compared = false WHERE name = $1
