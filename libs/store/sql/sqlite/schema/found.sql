-- Begins the first log epoch (?1) of a fresh database, and gives the database a name (?2).
INSERT INTO log_state (only_row, log_epoch, system_identifier) VALUES (1, ?1, ?2) ON CONFLICT (only_row) DO NOTHING
