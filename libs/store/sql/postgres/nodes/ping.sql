-- Asks for nothing but an answer.
SELECT 1
