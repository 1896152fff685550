-- What a watch saw that woke somebody is told with the run.
ALTER TABLE slots ADD COLUMN difference TEXT NOT NULL DEFAULT '';
