-- Bytes of the table of live connections with its indexes, and its dead rows, about. One row.
SELECT pg_total_relation_size('gateway_presence'), coalesce(n_dead_tup, 0), coalesce(n_tup_hot_upd, 0), coalesce(n_tup_upd, 0)
FROM pg_stat_user_tables
WHERE relname = 'gateway_presence'
