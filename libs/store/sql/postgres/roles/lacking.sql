-- Those of the given rights that the user does not have: $1 relations, $2 privileges, $3 columns (null: the whole relation).
SELECT needed.relation, needed.privilege, needed.column_name
FROM unnest($1::text[], $2::text[], $3::text[]) AS needed (relation, privilege, column_name)
LEFT JOIN pg_attribute AS attribute
    ON attribute.attrelid = to_regclass(needed.relation) AND attribute.attname = needed.column_name
WHERE NOT coalesce(
    CASE
        WHEN needed.column_name IS NULL THEN has_table_privilege(to_regclass(needed.relation), needed.privilege)
        ELSE has_column_privilege(attribute.attrelid, attribute.attnum, needed.privilege)
    END,
    false
)
ORDER BY needed.relation, needed.privilege, needed.column_name
