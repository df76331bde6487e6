-- Lets one migrator in at a time ($1 is the number of the lock); the session holds it until it ends.
-- Tried, not waited for: a waiting statement would hold a snapshot that some migrations wait for.
SELECT pg_try_advisory_lock($1) AS locked
