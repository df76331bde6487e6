-- Which life of the log this is.
SELECT log_epoch FROM log_state
