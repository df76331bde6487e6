-- Rights of the user beyond the given ones, on all that belongs to whoever owns the migrations: $1 relations, $2 privileges, $3 columns
-- (null: the whole relation).
WITH needed AS (
    SELECT relation, privilege, column_name
    FROM unnest($1::text[], $2::text[], $3::text[]) AS needed (relation, privilege, column_name)
),
ours AS (
    SELECT relation.oid, relation.relname::text AS name
    FROM pg_class AS relation
    JOIN pg_class AS migrations ON migrations.relowner = relation.relowner AND migrations.relnamespace = relation.relnamespace
    WHERE migrations.oid = to_regclass('schema_migrations') AND relation.relkind IN ('r', 'p', 'v', 'm', 'S')
),
whole AS (
    SELECT ours.oid, ours.name, had.privilege
    FROM ours
    CROSS JOIN unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS had (privilege)
    WHERE has_table_privilege(ours.oid, had.privilege)
)
SELECT whole.name AS relation, whole.privilege, NULL::text AS column_name
FROM whole
WHERE NOT EXISTS (
    SELECT
    FROM needed
    WHERE needed.relation = whole.name AND needed.privilege = whole.privilege AND needed.column_name IS NULL
)
UNION ALL
SELECT ours.name, had.privilege, attribute.attname::text
FROM ours
JOIN pg_attribute AS attribute ON attribute.attrelid = ours.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped
CROSS JOIN unnest('{SELECT,INSERT,UPDATE,REFERENCES}'::text[]) AS had (privilege)
WHERE has_column_privilege(ours.oid, attribute.attnum, had.privilege)
    AND NOT EXISTS (SELECT FROM whole WHERE whole.oid = ours.oid AND whole.privilege = had.privilege)
    AND NOT EXISTS (
        SELECT
        FROM needed
        WHERE needed.relation = ours.name AND needed.privilege = had.privilege
            AND (needed.column_name IS NULL OR needed.column_name = attribute.attname)
    )
ORDER BY relation, privilege, column_name
