-- Of these notifications those of which a hint may be shown now: decided so, neither read nor gone since.
-- $1 notifications
SELECT facts.*
FROM unnest($1::uuid[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM notification_facts WHERE notification_facts.id = given.id LIMIT 1) AS facts
WHERE facts.decision = 'gateway' AND NOT facts.read AND NOT facts.withdrawn AND NOT facts.left_room AND NOT facts.disabled
ORDER BY facts.id
