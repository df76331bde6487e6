-- Hears of messages.
LISTEN bare
