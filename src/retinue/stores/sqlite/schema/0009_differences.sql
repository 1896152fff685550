-- The change a watch detected is stored with the run.
ALTER TABLE slots ADD COLUMN difference TEXT NOT NULL DEFAULT '';
