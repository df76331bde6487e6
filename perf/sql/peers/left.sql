-- How many jobs are not over: a job that is over is deleted. One row.
SELECT count(*) FROM graphile_worker._private_jobs
