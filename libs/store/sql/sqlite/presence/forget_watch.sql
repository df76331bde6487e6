-- Nobody has looked after the rows of presence since another process did.
DELETE FROM presence_epoch
