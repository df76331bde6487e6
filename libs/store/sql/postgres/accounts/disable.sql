-- Disables $1. Its lock makes it wait for sign-ins that are being opened, and later ones see it.
UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE id = $1 RETURNING id
