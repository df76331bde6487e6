-- Of notifications (?1) those of which a hint may be shown now: decided so, neither read nor gone since.
SELECT *
FROM notification_facts
WHERE id IN rarray(?1) AND decision = 'gateway' AND NOT read AND NOT withdrawn AND NOT left_room AND NOT disabled
ORDER BY id
