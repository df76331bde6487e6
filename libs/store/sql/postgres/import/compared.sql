-- Notes that the table $1 is what was exported.
UPDATE import_progress SET compared = true WHERE name = $1
