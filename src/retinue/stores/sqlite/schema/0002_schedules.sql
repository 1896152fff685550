-- Schedules, their slots (each is taken at most once), and the states of watches.

CREATE TABLE schedules (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    next_at INTEGER, -- NULL: paused, or done
    body BLOB NOT NULL,
    PRIMARY KEY (owner, id)
) WITHOUT ROWID;
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE slots (
    owner TEXT NOT NULL,
    schedule TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    item TEXT,
    PRIMARY KEY (owner, schedule, due_at)
) WITHOUT ROWID;

CREATE TABLE marks (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
