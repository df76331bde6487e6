-- Who asks, and what it is beside the rights on tables. Whoever may act as the owner of the tables may do everything with them.
SELECT
    current_user::text AS name,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
    coalesce(pg_has_role(relowner, 'USAGE'), false) AS is_owner,
    coalesce(has_schema_privilege(relnamespace, 'CREATE'), false) AS creates
FROM (SELECT to_regclass('schema_migrations') AS id) AS migrations
LEFT JOIN pg_class ON pg_class.oid = migrations.id
