-- The present epoch.
SELECT log_epoch FROM log_state
