-- How often the list of keys was replaced.
SELECT revision FROM signing_manifest
