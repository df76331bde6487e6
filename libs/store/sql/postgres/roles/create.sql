-- Makes the roles of nodes that are not there. Roles belong to the server: whoever migrates another of its databases may be at it, too.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['switchboard_api', 'switchboard_gateway', 'switchboard_worker'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = role);
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
END
$$
