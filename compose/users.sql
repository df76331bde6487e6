-- Who signs in to the database of compose.yaml. Carried out by the image of PostgreSQL, once, when the database is made.
-- The superuser is for people who look after it, the owner for `switchboard migrate`, and the rest for nodes of a role:
-- docs/operations/database-roles.md.

\set owner `cat /run/secrets/database_owner`
\set api `cat /run/secrets/database_api`
\set gateway `cat /run/secrets/database_gateway`
\set worker `cat /run/secrets/database_worker`

-- What these may do is given by `switchboard migrate`.
CREATE ROLE switchboard_api;
CREATE ROLE switchboard_gateway;
CREATE ROLE switchboard_worker;

CREATE ROLE switchboard_owner LOGIN PASSWORD :'owner';
CREATE ROLE node_api LOGIN PASSWORD :'api' IN ROLE switchboard_api;
CREATE ROLE node_gateway LOGIN PASSWORD :'gateway' IN ROLE switchboard_gateway;
CREATE ROLE node_worker LOGIN PASSWORD :'worker' IN ROLE switchboard_worker;

ALTER DATABASE switchboard OWNER TO switchboard_owner;
REVOKE CONNECT ON DATABASE switchboard FROM PUBLIC;
GRANT CONNECT ON DATABASE switchboard TO node_api, node_gateway, node_worker;
