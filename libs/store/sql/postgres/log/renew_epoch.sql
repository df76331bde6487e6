-- Begins a new epoch, if the expected one is still the present one.
-- $1 new, $2 expected
UPDATE log_state SET log_epoch = $1 WHERE log_epoch = $2
