-- Lists, their items, notes and views. `name` and `words` are folded: without case and accents.
CREATE TABLE artifacts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- the full-text index names artifacts by it
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL, -- list, item, note or view
    list TEXT, -- of an item
    position INTEGER, -- of an item: from 0, without gaps
    name TEXT NOT NULL,
    words TEXT NOT NULL, -- everything else that can be searched
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX artifacts_id ON artifacts (owner, id);
CREATE UNIQUE INDEX artifacts_name ON artifacts (owner, kind, name) WHERE kind <> 'item';
CREATE INDEX artifacts_items ON artifacts (owner, list, position) WHERE kind = 'item';
CREATE INDEX artifacts_titles ON artifacts (owner, list, name) WHERE kind = 'item';

-- Changes to artifacts with the state before and after, for histories and undo.
CREATE TABLE artifact_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    area TEXT NOT NULL, -- lists, notes or views
    subject TEXT NOT NULL, -- the artifact that it is about
    list TEXT, -- the list of that item
    key TEXT, -- the same key gives the first change again
    is_undo INTEGER NOT NULL, -- 0 or 1
    undone_by TEXT,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX artifact_changes_id ON artifact_changes (owner, id);
CREATE UNIQUE INDEX artifact_changes_key ON artifact_changes (owner, key) WHERE key IS NOT NULL;
CREATE INDEX artifact_changes_owner ON artifact_changes (owner, number);
