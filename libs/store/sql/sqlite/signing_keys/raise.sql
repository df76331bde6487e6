-- Replaces the revision ?1 by the next, at ?2, if it is the present one.
UPDATE signing_manifest SET revision = ?1 + 1, written_at = ?2 WHERE revision = ?1
