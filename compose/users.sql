-- Who signs in to the database of compose.yaml. Carried out by the image of PostgreSQL, once, when the database is made.
-- The superuser is for people who look after it.

\set owner `cat /run/secrets/database_owner`
CREATE ROLE switchboard_owner LOGIN PASSWORD :'owner';
ALTER DATABASE switchboard OWNER TO switchboard_owner;
REVOKE CONNECT ON DATABASE switchboard FROM PUBLIC;
