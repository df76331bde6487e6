-- Enables ?1 again; their ended sign-ins stay ended.
UPDATE users SET disabled_at = NULL WHERE id = ?1
