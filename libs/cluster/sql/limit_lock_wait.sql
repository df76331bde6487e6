-- The wait for the commit lock of NOTIFY ignores statement_timeout; only this ends it. $1 is in milliseconds.
SELECT set_config('lock_timeout', $1, false)
