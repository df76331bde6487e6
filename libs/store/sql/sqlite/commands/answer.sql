-- Answers a question (?1) to an agent (?2) with choices (?3), if nobody has and its time is not over (?4).
UPDATE autocomplete_requests SET choices = ?3 WHERE id = ?1 AND agent_id = ?2 AND choices IS NULL AND deadline > ?4
