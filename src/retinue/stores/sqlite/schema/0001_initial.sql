-- Times are microseconds since 1970. Agents have a small number besides their id, so that rows and
-- index entries that name them stay small. Records and items are only ever appended.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE agents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: the feed names agents by it
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    identity TEXT NOT NULL,
    kind TEXT NOT NULL,
    descriptor BLOB NOT NULL,
    definition TEXT NOT NULL,
    lifecycle TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    context_from INTEGER NOT NULL,
    pinned INTEGER NOT NULL, -- 0 or 1
    active_at INTEGER NOT NULL,
    last_user_at INTEGER,
    has_turn INTEGER NOT NULL, -- 0 or 1
    state BLOB NOT NULL
);
CREATE UNIQUE INDEX agents_id ON agents (id);
CREATE UNIQUE INDEX agents_identity ON agents (owner, identity);
CREATE INDEX agents_listing ON agents (owner, pinned, active_at);
CREATE INDEX agents_foreground ON agents (owner, last_user_at)
    WHERE kind = 'user' AND last_user_at IS NOT NULL;
CREATE INDEX agents_turning ON agents (number) WHERE has_turn = 1;

CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    agent INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL -- the JSON line, byte for byte
);
CREATE UNIQUE INDEX records_agent ON records (agent, seq);

CREATE TABLE items (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    agent INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    silent INTEGER NOT NULL,
    admitted_at INTEGER NOT NULL,
    fate TEXT NOT NULL,
    reason TEXT NOT NULL,
    reply_seq INTEGER,
    ended_at INTEGER, -- set with a final fate, and only then
    owner TEXT, -- with a dedupe key only: the key is the owner's
    dedupe_key TEXT,
    digest TEXT,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX items_id ON items (id);
CREATE UNIQUE INDEX items_agent ON items (agent, seq);
CREATE INDEX items_open ON items (agent, seq) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX items_key ON items (owner, dedupe_key) WHERE dedupe_key IS NOT NULL;

-- The feed: one row for each transaction, with a JSON array of
-- [cursor, agent, owner, first record, last record, [items], id of the agent if it was deleted]
-- for each agent that an admission or a commit touched.
CREATE TABLE changes (
    cursor INTEGER PRIMARY KEY, -- of the last one in it
    body BLOB NOT NULL
);

CREATE TABLE deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    agent INTEGER NOT NULL,
    key TEXT NOT NULL,
    connector TEXT NOT NULL,
    channel TEXT NOT NULL,
    text TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    error TEXT NOT NULL,
    done_at INTEGER -- delivered, or given up when there is an error
);
CREATE INDEX deliveries_open ON deliveries (connector, channel, number) WHERE done_at IS NULL;
CREATE INDEX deliveries_agent ON deliveries (agent);

-- Reserved ids and identities of agents whose folders could not be read.
CREATE TABLE set_aside (
    id TEXT PRIMARY KEY,
    owner TEXT, -- NULL: not known, so everybody's
    identity TEXT,
    reason TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE offsets (
    source TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_owner ON audit (owner, number);
