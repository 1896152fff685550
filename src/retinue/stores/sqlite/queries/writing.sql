-- Statements take all their rows at once, as a JSON array of arrays. Nearly every group is a single
-- statement: it inserts one row into a view, and the view's trigger distributes its parts to their
-- tables, cutting bodies from one blob. Each further statement would hand the interpreter lock to the
-- event loop and wait to get it back.

-- name: write_batch
INSERT INTO batch (
    agents, records, items, fates, states, details, deliveries, usage, cursor, changes, bodies
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);

-- name: create_batch
CREATE TEMP VIEW batch (
    agents, records, items, fates, states, details, deliveries, usage, cursor, changes, bodies
)
AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL;

-- name: create_batch_trigger
CREATE TEMP TRIGGER write_batch INSTEAD OF INSERT ON batch
BEGIN
    INSERT INTO agents (
        number, id, owner, identity, kind, descriptor, definition, lifecycle, epoch, context_from,
        pinned, active_at, last_user_at, has_turn, state, parent
    )
    SELECT
        value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4,
        CAST(value ->> 5 AS BLOB), value ->> 6, value ->> 7, value ->> 8, value ->> 9,
        value ->> 10, value ->> 11, value ->> 12, value ->> 13,
        CAST(value ->> 14 AS BLOB), value ->> 5 ->> 'parentAgentId'
    FROM json_each(NEW.agents);

    INSERT INTO records (agent, seq, body)
    SELECT value ->> 0, value ->> 1, substr(NEW.bodies, value ->> 2, value ->> 3)
    FROM json_each(NEW.records);

    INSERT INTO items (
        number, id, agent, seq, kind, silent, admitted_at, fate, reason, reply_seq, ended_at,
        owner, dedupe_key, digest, code, body
    )
    SELECT
        value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
        value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12,
        value ->> 13, value ->> 14, substr(NEW.bodies, value ->> 15, value ->> 16)
    FROM json_each(NEW.items);

    UPDATE items
    SET
        fate = entry.value ->> 1,
        reason = entry.value ->> 2,
        reply_seq = entry.value ->> 3,
        ended_at = entry.value ->> 4,
        code = entry.value ->> 5,
        body = iif( -- encrypted variables are removed when the command ends
            kind = 'command' AND entry.value ->> 4 IS NOT NULL,
            CAST(
                json_remove(CAST(body AS TEXT), '$.command.env', '$.command.patch.env') AS BLOB
            ),
            body
        )
    FROM json_each(NEW.fates) AS entry
    WHERE items.number = entry.value ->> 0;

    UPDATE agents
    SET state = substr(NEW.bodies, entry.value ->> 1, entry.value ->> 2)
    FROM json_each(NEW.states) AS entry
    WHERE agents.number = entry.value ->> 0;

    UPDATE agents
    SET
        definition = entry.value ->> 1,
        lifecycle = entry.value ->> 2,
        epoch = entry.value ->> 3,
        context_from = entry.value ->> 4,
        pinned = entry.value ->> 5,
        active_at = entry.value ->> 6,
        last_user_at = entry.value ->> 7,
        has_turn = entry.value ->> 8,
        state = substr(NEW.bodies, entry.value ->> 9, entry.value ->> 10)
    FROM json_each(NEW.details) AS entry
    WHERE agents.number = entry.value ->> 0;

    INSERT INTO deliveries (agent, key, connector, channel, text, attempts, due_at, error)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, 0, value ->> 5, ''
    FROM json_each(NEW.deliveries);

    INSERT INTO usage (
        owner, day, definition, model, agent, calls, input, output, cache_read, cache_write
    )
    SELECT
        value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4,
        value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
    FROM json_each(NEW.usage) WHERE true
    ON CONFLICT DO UPDATE SET
        calls = calls + excluded.calls,
        input = input + excluded.input,
        output = output + excluded.output,
        cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write;

    INSERT INTO changes (cursor, body)
    SELECT NEW.cursor, NEW.changes WHERE NEW.cursor IS NOT NULL;
END;

-- name: insert_audit
INSERT INTO audit (agent, owner, at, action, detail)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
FROM json_each(?1);

-- name: upsert_offsets
INSERT INTO offsets (source, value)
SELECT value ->> 0, value ->> 1
FROM json_each(?1) WHERE true
ON CONFLICT (source) DO UPDATE SET value = excluded.value;

-- name: redescribe
UPDATE agents SET identity = ?2, descriptor = ?3 WHERE number = ?1;

-- name: delete_agents
DELETE FROM agents WHERE number IN (SELECT value FROM json_each(?1));

-- name: delete_records
DELETE FROM records WHERE agent IN (SELECT value FROM json_each(?1));

-- name: delete_items
DELETE FROM items WHERE agent IN (SELECT value FROM json_each(?1));

-- name: delete_deliveries
DELETE FROM deliveries WHERE agent IN (SELECT value FROM json_each(?1));

-- name: finish_delivery
DELETE FROM deliveries WHERE number = ?1;

-- name: postpone_delivery
UPDATE deliveries SET attempts = attempts + 1, error = ?2, due_at = ?3
WHERE number = ?1 AND done_at IS NULL;

-- name: give_up_delivery
UPDATE deliveries SET attempts = attempts + 1, error = ?2, done_at = ?3
WHERE number = ?1 AND done_at IS NULL;

-- name: prune_deliveries
DELETE FROM deliveries WHERE done_at < ?1;

-- name: prune_changes
DELETE FROM changes WHERE cursor <= ?1;

-- name: set_meta
INSERT INTO meta (name, value) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: load_agents
SELECT
    number, id, owner, identity, descriptor, definition, lifecycle, epoch, context_from, state,
    coalesce((SELECT max(seq) FROM records WHERE agent = agents.number), 0),
    coalesce((SELECT max(seq) FROM items WHERE agent = agents.number), 0)
FROM agents
WHERE id IN (SELECT value FROM json_each(?1));

-- name: load_identities
SELECT
    agents.number, agents.id, agents.owner, agents.identity, agents.descriptor, agents.definition,
    agents.lifecycle, agents.epoch, agents.context_from, agents.state,
    coalesce((SELECT max(seq) FROM records WHERE agent = agents.number), 0),
    coalesce((SELECT max(seq) FROM items WHERE agent = agents.number), 0)
FROM json_each(?1) AS entry
JOIN agents ON agents.owner = entry.value ->> 0 AND agents.identity = entry.value ->> 1;

-- name: load_open_items
SELECT
    items.number, items.id, agents.id, items.seq, items.kind, items.silent, items.body,
    items.admitted_at, items.fate, items.reason, items.reply_seq, items.ended_at, items.code
FROM items
JOIN agents ON agents.number = items.agent
WHERE items.agent IN (SELECT value FROM json_each(?1)) AND items.ended_at IS NULL
ORDER BY items.agent, items.seq;

-- name: load_keys
SELECT
    items.number, items.id, agents.id, items.seq, items.kind, items.silent, items.body,
    items.admitted_at, items.fate, items.reason, items.reply_seq, items.ended_at, items.code,
    items.owner, items.dedupe_key, items.digest
FROM json_each(?1) AS entry
JOIN items ON items.owner = entry.value ->> 0 AND items.dedupe_key = entry.value ->> 1
JOIN agents ON agents.number = items.agent;

-- name: load_counters
SELECT
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'agents'), 0),
    coalesce((SELECT max(number) FROM items), 0),
    coalesce((SELECT max(cursor) FROM changes), 0);

-- name: rename_agent
UPDATE agents SET identity = ?2 WHERE number = ?1;

-- name: set_aside
INSERT INTO set_aside (id, owner, identity, reason) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE
SET owner = excluded.owner, identity = excluded.identity, reason = excluded.reason;

-- name: load_set_aside
SELECT id, owner, identity, reason FROM set_aside;

-- name: set_offset
INSERT INTO offsets (source, value) VALUES (?1, ?2)
ON CONFLICT (source) DO UPDATE SET value = excluded.value;
