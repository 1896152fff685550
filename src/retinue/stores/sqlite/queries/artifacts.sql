-- name: artifact
SELECT body, version, list, position FROM artifacts WHERE owner = ?1 AND id = ?2;

-- name: artifacts_named
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = ?2 AND kind <> 'item' AND name = ?3;

-- name: items_titled
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = 'item' AND list = ?2 AND name = ?3
ORDER BY position LIMIT 20;

-- name: items_titled_anywhere
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = 'item' AND name = ?2
ORDER BY list, position LIMIT 20;

-- name: artifacts_of_kind
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = ?2 AND kind <> 'item' ORDER BY name;

-- name: artifacts_page
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = ?2 AND kind <> 'item' ORDER BY name LIMIT ?3 OFFSET ?4;

-- name: artifact_names
SELECT id, coalesce(cast(body AS TEXT) ->> '$.name', cast(body AS TEXT) ->> '$.title')
FROM artifacts WHERE owner = ?1 AND kind = ?2 AND kind <> 'item' ORDER BY name LIMIT ?3;

-- name: all_items
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = 'item' ORDER BY list, position;

-- name: items_of_lists
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = 'item' AND list IN (SELECT value FROM json_each(?2))
ORDER BY list, position;

-- name: list_items
SELECT body, version, list, position FROM artifacts
WHERE owner = ?1 AND kind = 'item' AND list = ?2 ORDER BY position;

-- name: list_lengths
SELECT list, count(*) FROM artifacts WHERE owner = ?1 AND kind = 'item' GROUP BY list;

-- name: list_length
SELECT coalesce(max(position) + 1, 0) FROM artifacts
WHERE owner = ?1 AND kind = 'item' AND list = ?2;

-- name: name_holder
SELECT id FROM artifacts WHERE owner = ?1 AND kind = ?2 AND kind <> 'item' AND name = ?3;

-- name: count_artifacts
SELECT count(*) FROM artifacts WHERE owner = ?1 AND kind = ?2 AND kind <> 'item';

-- name: artifact_owners
SELECT DISTINCT owner FROM artifacts UNION SELECT DISTINCT owner FROM artifact_changes ORDER BY 1;

-- name: put_artifact
INSERT INTO artifacts (owner, id, kind, list, position, name, words, version, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (owner, id) DO UPDATE SET
    list = excluded.list,
    position = excluded.position,
    name = excluded.name,
    words = excluded.words,
    version = excluded.version,
    body = excluded.body;

-- name: restore_artifact
INSERT INTO artifacts (owner, id, kind, list, position, name, words, version, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT DO NOTHING;

-- name: delete_artifact
DELETE FROM artifacts WHERE owner = ?1 AND id = ?2;

-- name: delete_list_items
DELETE FROM artifacts WHERE owner = ?1 AND kind = 'item' AND list = ?2;

-- name: make_room
UPDATE artifacts SET position = position + 1
WHERE owner = ?1 AND kind = 'item' AND list = ?2 AND position >= ?3;

-- name: close_gap
UPDATE artifacts SET position = position - 1
WHERE owner = ?1 AND kind = 'item' AND list = ?2 AND position > ?3;

-- name: close_all_gaps
UPDATE artifacts SET position = placed.position FROM (
    SELECT number, row_number() OVER (PARTITION BY list ORDER BY position, number) - 1 AS position
    FROM artifacts WHERE owner = ?1 AND kind = 'item'
) AS placed
WHERE artifacts.number = placed.number AND artifacts.position <> placed.position;

-- name: insert_artifact_change
INSERT INTO artifact_changes (id, owner, area, subject, list, key, is_undo, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: restore_artifact_change
INSERT INTO artifact_changes (
    id, owner, area, subject, list, key, is_undo, body, number, undone_by
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT DO NOTHING;

-- name: mark_undone
UPDATE artifact_changes SET undone_by = ?3 WHERE owner = ?1 AND id = ?2;

-- name: prune_artifact_changes
DELETE FROM artifact_changes WHERE owner = ?1 AND number <= (
    SELECT number FROM artifact_changes WHERE owner = ?1
    ORDER BY number DESC LIMIT 1 OFFSET ?2
);

-- name: prune_large_artifact_changes
DELETE FROM artifact_changes WHERE owner = ?1 AND number <= (
    SELECT number FROM (
        SELECT number, sum(length(body)) OVER (ORDER BY number DESC) AS bytes
        FROM artifact_changes WHERE owner = ?1
    )
    WHERE bytes > ?2 AND number < (SELECT max(number) FROM artifact_changes WHERE owner = ?1)
    ORDER BY number DESC LIMIT 1
);

-- name: artifact_change
SELECT body, number, undone_by FROM artifact_changes WHERE owner = ?1 AND id = ?2;

-- name: artifact_change_by_key
SELECT body, number, undone_by FROM artifact_changes WHERE owner = ?1 AND key = ?2;

-- name: artifact_changes
SELECT body, number, undone_by FROM artifact_changes
WHERE
    owner = ?1
    AND (?2 IS NULL OR area = ?2)
    AND (?3 IS NULL OR subject = ?3 OR list = ?3)
    AND (?4 IS NULL OR number < ?4)
ORDER BY number DESC LIMIT ?5;

-- name: last_undoable
SELECT body, number, undone_by FROM artifact_changes
WHERE owner = ?1 AND area = ?2 AND is_undo = 0 AND undone_by IS NULL
ORDER BY number DESC LIMIT 1;

-- name: artifact_changes_after
SELECT body, number, undone_by FROM artifact_changes WHERE number > ?1 ORDER BY number LIMIT ?2;

-- name: artifact_change_bounds
SELECT coalesce(min(number), 0), coalesce(max(number), 0) FROM artifact_changes;

-- name: create_artifact_index
CREATE VIRTUAL TABLE IF NOT EXISTS artifact_index USING fts5 (
    name, words,
    content = 'artifacts', content_rowid = 'number', tokenize = 'trigram case_sensitive 1'
);

-- name: touch_artifact_index
SELECT rowid FROM artifact_index LIMIT 0;

-- name: rebuild_artifact_index
INSERT INTO artifact_index (artifact_index) VALUES ('rebuild');

-- name: index_artifact
INSERT INTO artifact_index (rowid, name, words)
SELECT number, name, words FROM artifacts WHERE owner = ?1 AND id = ?2;

-- name: unindex_artifact
INSERT INTO artifact_index (artifact_index, rowid, name, words)
SELECT 'delete', number, name, words FROM artifacts WHERE owner = ?1 AND id = ?2;

-- name: unindex_items
INSERT INTO artifact_index (artifact_index, rowid, name, words)
SELECT 'delete', number, name, words FROM artifacts
WHERE owner = ?1 AND kind = 'item' AND list = ?2;

-- name: search_index
SELECT body, version, list, position
FROM artifact_index JOIN artifacts ON artifacts.number = artifact_index.rowid
WHERE
    artifact_index MATCH ?1
    AND artifacts.owner = ?2
    AND artifacts.kind IN (SELECT value FROM json_each(?3))
    AND (?4 IS NULL OR artifacts.list = ?4)
    AND NOT EXISTS (
        SELECT 1 FROM json_each(?5)
        WHERE instr(artifacts.name, value) = 0 AND instr(artifacts.words, value) = 0
    )
ORDER BY bm25(artifact_index, 8.0, 1.0), artifacts.number DESC
LIMIT ?6;

-- name: narrowed_by_index
SELECT body, version, list, position
FROM artifact_index JOIN artifacts ON artifacts.number = artifact_index.rowid
WHERE
    artifact_index MATCH ?1
    AND artifacts.owner = ?2
    AND artifacts.kind IN (SELECT value FROM json_each(?3))
    AND (?4 IS NULL OR kind = 'note' OR artifacts.list IN (SELECT value FROM json_each(?4)))
ORDER BY artifacts.kind, artifacts.list, artifacts.position, artifacts.name;

-- name: search_words
SELECT body, version, list, position FROM artifacts
WHERE
    owner = ?1
    AND kind IN (SELECT value FROM json_each(?2))
    AND (?3 IS NULL OR list = ?3)
    AND NOT EXISTS (
        SELECT 1 FROM json_each(?4) WHERE instr(name, value) = 0 AND instr(words, value) = 0
    )
ORDER BY
    (SELECT count(*) FROM json_each(?4) WHERE instr(name, value) > 0) DESC,
    number DESC
LIMIT ?5;
