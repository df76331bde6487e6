-- Begins a new epoch (?1), whatever the present one is.
UPDATE log_state SET log_epoch = ?1
