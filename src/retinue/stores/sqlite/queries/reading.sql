-- name: agent
SELECT
    id, owner, kind, descriptor, definition, lifecycle, state, queued, running, pinned, active_at,
    number
FROM agents_listed
WHERE id = ?1 AND owner = ?2;

-- name: agent_by_identity
SELECT
    id, owner, kind, descriptor, definition, lifecycle, state, queued, running, pinned, active_at,
    number
FROM agents_listed
WHERE owner = ?1 AND identity = ?2;

-- name: agent_by_last_user_input
SELECT
    id, owner, kind, descriptor, definition, lifecycle, state, queued, running, pinned, active_at,
    number
FROM agents_listed
WHERE owner = ?1 AND kind = 'user' AND last_user_at IS NOT NULL AND lifecycle = 'active'
ORDER BY last_user_at DESC, number DESC
LIMIT 1;

-- name: conversations
SELECT
    id, owner, kind, descriptor, definition, lifecycle, state,
    (SELECT count(*) FROM items
        WHERE agent = agents.number AND ended_at IS NULL AND fate = 'queued' AND silent = 0),
    (SELECT count(*) FROM items
        WHERE agent = agents.number AND ended_at IS NULL AND fate = 'running'),
    pinned, active_at, number
FROM agents
WHERE owner = ?1 AND definition = ?2 AND kind = 'user' AND lifecycle = 'active'
ORDER BY active_at DESC, number DESC
LIMIT ?3;

-- name: agents
SELECT
    id, owner, kind, descriptor, definition, lifecycle, state, queued, running, pinned, active_at,
    number
FROM agents_listed
WHERE
    owner = ?1
    AND (pinned, active_at, number) < (?2, ?3, ?4)
    AND (?5 IS NULL OR definition = ?5)
    AND (?6 IS NULL OR kind = ?6)
    AND (?7 IS NULL OR state_mentions(state, ?7))
ORDER BY pinned DESC, active_at DESC, number DESC
LIMIT ?8;

-- name: agents_by_number
SELECT
    id, owner, kind, descriptor, definition, lifecycle, state, queued, running, pinned, active_at,
    number
FROM agents_listed
WHERE number IN (SELECT value FROM json_each(?1));

-- name: children
SELECT number FROM agents WHERE parent = ?1 AND owner = ?2;

-- name: agent_number
SELECT number FROM agents WHERE id = ?1 AND owner = ?2;

-- name: item
SELECT
    items.number, items.id, agents.id, items.seq, items.kind, items.silent, items.body,
    items.admitted_at, items.fate, items.reason, items.reply_seq, items.ended_at, items.code,
    iif(items.ended_at IS NULL, (
        SELECT count(*) FROM items AS earlier
        WHERE earlier.agent = items.agent AND earlier.ended_at IS NULL
            AND earlier.seq < items.seq AND earlier.silent = 0
    ), 0)
FROM items
JOIN agents ON agents.number = items.agent
WHERE items.id = ?1 AND agents.owner = ?2;

-- name: open_items
SELECT
    items.number, items.id, ?2, items.seq, items.kind, items.silent, items.body,
    items.admitted_at, items.fate, items.reason, items.reply_seq, items.ended_at, items.code
FROM items
WHERE items.agent = ?1 AND items.ended_at IS NULL
ORDER BY items.seq;

-- name: items_by_number
SELECT
    items.number, items.id, agents.id, items.seq, items.kind, items.silent, items.body,
    items.admitted_at, items.fate, items.reason, items.reply_seq, items.ended_at, items.code
FROM items
JOIN agents ON agents.number = items.agent
WHERE items.number IN (SELECT value FROM json_each(?1));

-- name: history
SELECT body FROM records WHERE agent = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;

-- name: record
SELECT body FROM records WHERE agent = ?1 AND seq = ?2;

-- name: records_between
SELECT body FROM records WHERE agent = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq;

-- name: current
SELECT body FROM records
WHERE agent = ?1 AND seq >= (SELECT context_from FROM agents WHERE number = ?1) ORDER BY seq;

-- name: context
SELECT body FROM records WHERE agent = ?1 AND seq >= ?2 AND seq < ?3 ORDER BY seq;

-- name: changes
SELECT body FROM changes WHERE cursor > ?1 ORDER BY cursor;

-- name: feed_bounds
SELECT
    coalesce((SELECT max(cursor) FROM changes), 0),
    coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'feed_floor'), 0);

-- name: waking
SELECT id, kind FROM agents
WHERE number IN (
    SELECT number FROM agents WHERE has_turn = 1
    UNION
    SELECT agent FROM items
    WHERE ended_at IS NULL
        AND (fate = 'running' OR (fate = 'queued' AND (silent = 0 OR kind = 'command')))
)
ORDER BY number;

-- name: due_deliveries
SELECT
    deliveries.number, agents.id, deliveries.key, deliveries.connector, deliveries.channel,
    deliveries.text, deliveries.attempts, deliveries.due_at
FROM (
    SELECT min(number) AS first FROM deliveries WHERE done_at IS NULL GROUP BY connector, channel
) AS heads
JOIN deliveries ON deliveries.number = heads.first
JOIN agents ON agents.number = deliveries.agent
WHERE deliveries.due_at <= ?1
ORDER BY deliveries.number
LIMIT ?2;

-- name: delivery_agent
SELECT agents.id FROM deliveries
JOIN agents ON agents.number = deliveries.agent
WHERE deliveries.number = ?1;

-- name: offset
SELECT value FROM offsets WHERE source = ?1;

-- name: meta
SELECT value FROM meta WHERE name = ?1;

-- name: facts
SELECT
    (SELECT count(*) FROM agents),
    (SELECT count(*) FROM items WHERE ended_at IS NULL),
    (SELECT count(*) FROM deliveries WHERE done_at IS NULL);

-- name: offsets
SELECT source, value FROM offsets ORDER BY source;

-- name: set_aside
SELECT id, reason FROM set_aside ORDER BY id;

-- name: whole_agent
-- Returns everything in one row: reading row by row would release and reacquire the interpreter lock
-- hundreds of times per second, only to copy bytes.
SELECT
    owner, descriptor, definition, lifecycle, context_from, state,
    coalesce((SELECT max(seq) FROM records WHERE agent = agents.number), 0),
    coalesce((SELECT max(seq) FROM items WHERE agent = agents.number), 0),
    (
        SELECT group_concat(CAST(body AS TEXT), char(10))
        FROM (SELECT body FROM records WHERE agent = agents.number AND seq > ?2 ORDER BY seq)
    ),
    (
        SELECT json_group_array(json_object(
            'item', json_object(
                'id', id, 'agentId', ?1, 'seq', seq, 'kind', kind,
                'silent', json(iif(silent, 'true', 'false')), 'body', json(CAST(body AS TEXT)),
                'admittedAt', strftime('%Y-%m-%dT%H:%M:%S', admitted_at / 1000000, 'unixepoch')
                || printf('.%06dZ', admitted_at % 1000000),
                'fate', fate, 'reason', reason, 'replySeq', reply_seq
            ),
            'key', dedupe_key, 'digest', coalesce(digest, '')
        ))
        FROM (SELECT * FROM items WHERE agent = agents.number AND ended_at IS NULL ORDER BY seq)
    ),
    (
        SELECT json_group_array(json_object(
            'id', id, 'seq', seq, 'kind', kind, 'silent', json(iif(silent, 'true', 'false')),
            'fate', fate, 'reason', reason, 'replySeq', reply_seq, 'key', dedupe_key,
            'digest', coalesce(digest, ''), 'code', code,
            'admittedAt', strftime('%Y-%m-%dT%H:%M:%S', admitted_at / 1000000, 'unixepoch')
                || printf('.%06dZ', admitted_at % 1000000),
            'endedAt', strftime('%Y-%m-%dT%H:%M:%S', ended_at / 1000000, 'unixepoch')
                || printf('.%06dZ', ended_at % 1000000)
        ))
        FROM (
            SELECT * FROM items
            WHERE agent = agents.number AND seq > ?3 AND ended_at IS NOT NULL
            ORDER BY seq
        )
    ),
    (
        SELECT json_group_array(json_object(
            'key', key, 'connector', connector, 'channel', channel, 'text', text
        ))
        FROM (
            SELECT * FROM deliveries WHERE agent = agents.number AND done_at IS NULL
            ORDER BY number
        )
    ),
    (
        SELECT json_group_array(json(iif(
            status = 'pending',
            CAST(body AS TEXT),
            json_set(
                CAST(body AS TEXT),
                '$.status', status,
                '$.decidedAt', strftime('%Y-%m-%dT%H:%M:%S', decided_at / 1000000, 'unixepoch')
                    || printf('.%06dZ', decided_at % 1000000),
                '$.decidedBy', decided_by,
                '$.note', note,
                '$.values', json(coalesce(CAST(answers AS TEXT), '{}'))
            )
        )))
        FROM (
            SELECT * FROM requests
            WHERE agent = agents.number AND (status = 'pending' OR number > coalesce((
                SELECT number FROM requests AS old
                WHERE old.agent = agents.number AND old.status <> 'pending'
                ORDER BY number DESC LIMIT 1 OFFSET 20
            ), 0))
            ORDER BY number
        )
    )
FROM agents
WHERE id = ?1;

-- name: agent_ids
SELECT id FROM agents ORDER BY number;

-- name: ids_by_number
SELECT number, id FROM agents WHERE number IN (SELECT value FROM json_each(?1));

-- name: audited
SELECT number, agent, at, action, detail
FROM audit
WHERE owner = ?1 AND (?2 IS NULL OR number < ?2) AND action IN (SELECT value FROM json_each(?3))
ORDER BY number DESC
LIMIT ?4;
