-- The highest fencing token of a leader that wrote to the repository; NULL until the first one.

ALTER TABLE repositories ADD COLUMN IF NOT EXISTS log_id text, ADD COLUMN IF NOT EXISTS leader_epoch bigint;
