-- Notes that a refresh token (?1, its hash) was used at ?2.
UPDATE refresh_tokens SET used_at = ?2 WHERE hash = ?1
