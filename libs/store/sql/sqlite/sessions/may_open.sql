-- Whether a person (?1) may sign in now (?2): there is one, neither disabled nor locked after failed sign-ins. A row if so.
SELECT 1 FROM users WHERE id = ?1 AND disabled_at IS NULL AND (locked_until IS NULL OR locked_until <= ?2)
