-- Which export the import was of that has ended in this database.
SELECT export FROM import_ended LIMIT 1
