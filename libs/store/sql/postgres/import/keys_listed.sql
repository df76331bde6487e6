-- Notes that the list of signing keys was replaced.
UPDATE signing_manifest SET revision = revision + 1, written_at = clock_timestamp()
