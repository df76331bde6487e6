-- The stage is for PostgreSQL, where an update of a row writes all of its indexes or none. Here it writes those that it changes.
SELECT 1;
