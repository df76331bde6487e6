-- Removes signing keys that the exported database had and did not use: those that are used come from a directory.
DELETE FROM signing_keys
