-- Say many things at once: $1 is an array of payloads. One statement is one transaction, so the lock that
-- NOTIFY takes at commit, one for the whole PostgreSQL cluster, is taken once for all of them.
-- The array hides its length from the planner, so that one plan is kept.
SELECT pg_notify('ephemeral', payload) FROM unnest((SELECT $1::text[])) AS payload
