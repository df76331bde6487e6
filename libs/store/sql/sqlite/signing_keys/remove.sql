-- Removes the keys that are not among these (?1).
DELETE FROM signing_keys WHERE kid NOT IN rarray(?1)
