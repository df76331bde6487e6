-- Removes questions to agents whose time was over long enough ago.
-- ?1 most at once, ?2 over before when
DELETE FROM autocomplete_requests
WHERE id IN (SELECT id FROM autocomplete_requests WHERE deadline < ?2 LIMIT ?1)
