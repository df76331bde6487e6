-- Since when the rows of presence are looked after, and when somebody last did. No row: nobody does.
SELECT since, watched_at FROM presence_epoch
