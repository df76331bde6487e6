-- Takes the text of a message (?1) from the runs that it asked for.
UPDATE runs SET input = 'null' WHERE message_id = ?1
