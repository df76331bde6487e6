-- Gives runs (?1) a place, at ?2.
UPDATE runs SET offered_at = ?2, reason = 'offered' WHERE id IN rarray(?1)
