-- Which of these roles ($1) the server has.
SELECT rolname::text AS name FROM pg_roles WHERE rolname = ANY ($1::text[])
