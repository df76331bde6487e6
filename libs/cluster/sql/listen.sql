-- Hear what other nodes say. Needs a session of its own: a transaction-mode pooler forgets it, a standby refuses it.
LISTEN ephemeral
