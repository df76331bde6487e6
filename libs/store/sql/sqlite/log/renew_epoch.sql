-- Begins a new epoch (?1), if the expected one (?2) is still the present one.
UPDATE log_state SET log_epoch = ?1 WHERE log_epoch = ?2
