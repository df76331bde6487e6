-- The heads of streams (?1); those that are gone are left out.
SELECT id, head FROM streams WHERE id IN rarray(?1)
