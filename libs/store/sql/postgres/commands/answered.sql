-- The answer to a question; no row before there is one.
-- $1 request
SELECT choices::text AS choices FROM autocomplete_requests WHERE id = $1 AND choices IS NOT NULL
