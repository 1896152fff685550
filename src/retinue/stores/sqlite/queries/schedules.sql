-- name: schedule_revision
SELECT revision FROM schedules WHERE owner = ?1 AND id = ?2;

-- name: slot_taken
SELECT 1 FROM slots WHERE owner = ?1 AND schedule = ?2 AND due_at = ?3;

-- name: put_schedule
INSERT INTO schedules (owner, id, revision, next_at, body) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (owner, id) DO UPDATE
SET revision = excluded.revision, next_at = excluded.next_at, body = excluded.body;

-- name: move_schedule_on
UPDATE schedules SET next_at = ?3 WHERE owner = ?1 AND id = ?2;

-- name: delete_schedule
DELETE FROM schedules WHERE owner = ?1 AND id = ?2;

-- name: delete_slots
DELETE FROM slots WHERE owner = ?1 AND schedule = ?2;

-- name: insert_slot
INSERT INTO slots (owner, schedule, due_at, at, status, reason, difference, item)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (owner, schedule, due_at) DO NOTHING;

-- name: prune_slots
DELETE FROM slots
WHERE owner = ?1 AND schedule = ?2 AND due_at < (
    SELECT due_at FROM slots WHERE owner = ?1 AND schedule = ?2
    ORDER BY due_at DESC LIMIT 1 OFFSET ?3
);

-- name: put_mark
INSERT INTO marks (owner, key, body) VALUES (?1, ?2, ?3)
ON CONFLICT (owner, key) DO UPDATE SET body = excluded.body;

-- name: delete_mark
DELETE FROM marks WHERE owner = ?1 AND key = ?2;

-- name: restore_schedule
INSERT INTO schedules (owner, id, revision, next_at, body) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (owner, id) DO NOTHING;

-- name: restore_mark
INSERT INTO marks (owner, key, body) VALUES (?1, ?2, ?3)
ON CONFLICT (owner, key) DO NOTHING;

-- name: schedules
SELECT
    schedules.revision, schedules.next_at, schedules.body,
    EXISTS (
        SELECT 1 FROM slots AS run JOIN items ON items.id = run.item
        WHERE run.owner = schedules.owner AND run.schedule = schedules.id
            AND items.ended_at IS NULL
    ),
    slots.due_at, slots.at, slots.status, slots.reason, slots.difference, slots.item,
    agents.id, items.fate, items.reason, items.ended_at
FROM schedules
LEFT JOIN slots ON
    slots.owner = schedules.owner AND slots.schedule = schedules.id AND slots.due_at = (
        SELECT max(due_at) FROM slots AS other
        WHERE other.owner = schedules.owner AND other.schedule = schedules.id
    )
LEFT JOIN items ON items.id = slots.item
LEFT JOIN agents ON agents.number = items.agent
WHERE
    schedules.owner = ?1
    AND schedules.id >= coalesce(?2, '') AND schedules.id <= coalesce(?2, '~') -- ids are ASCII
ORDER BY schedules.next_at IS NULL, schedules.next_at, schedules.id;

-- name: due_schedules
SELECT owner, id FROM schedules WHERE next_at IS NOT NULL AND next_at <= ?1
ORDER BY next_at LIMIT ?2;

-- name: earliest_schedule
SELECT min(next_at) FROM schedules WHERE next_at > ?1;

-- name: slots
SELECT
    slots.due_at, slots.at, slots.status, slots.reason, slots.difference, slots.item,
    agents.id, items.fate, items.reason, items.ended_at
FROM slots
LEFT JOIN items ON items.id = slots.item
LEFT JOIN agents ON agents.number = items.agent
WHERE slots.owner = ?1 AND slots.schedule = ?2
ORDER BY slots.due_at DESC
LIMIT ?3;

-- name: schedule_is_running
SELECT EXISTS (
    SELECT 1 FROM slots JOIN items ON items.id = slots.item
    WHERE slots.owner = ?1 AND slots.schedule = ?2 AND items.ended_at IS NULL
);

-- name: marks
SELECT key, body FROM marks WHERE owner = ?1 ORDER BY key;

-- name: kept_schedules
SELECT revision, next_at, body FROM schedules ORDER BY owner, id;

-- name: kept_slots
SELECT owner, schedule, due_at, at, status, reason, difference, item
FROM slots AS kept
WHERE due_at >= coalesce((
    SELECT due_at FROM slots AS other
    WHERE other.owner = kept.owner AND other.schedule = kept.schedule
    ORDER BY due_at DESC LIMIT 1 OFFSET ?1
), 0)
ORDER BY owner, schedule, due_at;

-- name: kept_marks
SELECT owner, key, body FROM marks ORDER BY owner, key;
