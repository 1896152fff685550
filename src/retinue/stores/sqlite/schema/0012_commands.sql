-- Commands are items: open endings and switches become commands. They are silent: they do not count
-- in the queue.
ALTER TABLE items ADD COLUMN code TEXT NOT NULL DEFAULT '';
UPDATE items SET
    kind = 'command',
    silent = 1,
    body = CAST(json_set(
        CAST(body AS TEXT), '$.command', json_object(
            'type', 'terminate',
            'reason', coalesce(nullif(CAST(body AS TEXT) ->> '$.text', ''), 'its parent was terminated')
        )
    ) AS BLOB)
WHERE kind = 'ending' AND ended_at IS NULL;
UPDATE items SET
    kind = 'command',
    silent = 1,
    body = CAST(json_remove(json_set(
        CAST(body AS TEXT), '$.command',
        json_insert(CAST(body AS TEXT) -> '$.move', '$.type', 'switch')
    ), '$.move') AS BLOB)
WHERE kind = 'switch' AND ended_at IS NULL;
