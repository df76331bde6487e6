-- The answer to a question (?1); no row before there is one.
SELECT choices FROM autocomplete_requests WHERE id = ?1 AND choices IS NOT NULL
