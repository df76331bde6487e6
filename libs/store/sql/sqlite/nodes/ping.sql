-- Writes what is there already: answered when something can be written.
UPDATE log_state SET system_identifier = system_identifier WHERE only_row = 1
