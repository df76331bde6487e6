-- Notes the tables that are to be loaded, in their order: $1 names, $2 SHA-256 of the manifest.
INSERT INTO import_progress (place, name, export)
SELECT given.place, given.name, $2
FROM unnest($1::text[]) WITH ORDINALITY AS given (name, place)
