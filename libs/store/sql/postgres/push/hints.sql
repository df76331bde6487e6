-- Of these notifications those of which a hint may be shown now: decided so, neither read nor gone since.
-- $1 notifications
SELECT *
FROM notification_facts
WHERE id = ANY ($1::uuid[]) AND decision = 'gateway' AND NOT read AND NOT withdrawn AND NOT left_room AND NOT disabled
ORDER BY id
