-- What is wrong with the database: one row, 'ok', when nothing is.
PRAGMA quick_check
