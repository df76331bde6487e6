-- Reads one row, so that the file is asked.
SELECT only_row FROM log_state
