-- Requests of agents to their owners. The body is the original request, byte for byte.

CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    decided_at INTEGER,
    decided_by TEXT NOT NULL,
    note TEXT NOT NULL,
    answers BLOB, -- the values of a question's fields
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX requests_id ON requests (id);
CREATE INDEX requests_owner ON requests (owner, number);
CREATE INDEX requests_agent ON requests (agent, number);
CREATE INDEX requests_pending ON requests (expires_at) WHERE status = 'pending';
