-- name: load_requests
SELECT requests.body, requests.status, requests.decided_at, requests.decided_by, requests.note,
    requests.answers
FROM requests
WHERE requests.id IN (SELECT value FROM json_each(?1));

-- name: load_pending_requests
SELECT requests.body, requests.status, requests.decided_at, requests.decided_by, requests.note,
    requests.answers
FROM agents JOIN requests ON requests.agent = agents.number
WHERE agents.id IN (SELECT value FROM json_each(?1)) AND requests.status = 'pending'
ORDER BY requests.number;

-- name: insert_request
INSERT INTO requests (id, owner, agent, expires_at, status, decided_by, note, body)
VALUES (?1, ?2, ?3, ?4, 'pending', '', '', ?5);

-- name: settle_request
UPDATE requests SET status = ?2, decided_at = ?3, decided_by = ?4, note = ?5, answers = ?6
WHERE id = ?1;

-- name: prune_requests
DELETE FROM requests
WHERE agent = ?1 AND status <> 'pending' AND number < (
    SELECT number FROM requests WHERE agent = ?1 AND status <> 'pending'
    ORDER BY number DESC LIMIT 1 OFFSET ?2
);

-- name: delete_requests
DELETE FROM requests WHERE agent IN (SELECT value FROM json_each(?1));

-- name: request
SELECT body, status, decided_at, decided_by, note, answers
FROM requests WHERE id = ?1 AND owner = ?2;

-- name: requests
SELECT body, status, decided_at, decided_by, note, answers
FROM requests
WHERE
    owner = ?1
    AND (?2 IS NULL OR status = ?2)
    AND (?3 IS NULL OR agent = (SELECT number FROM agents WHERE id = ?3))
    AND (?4 IS NULL OR number < (SELECT number FROM requests WHERE id = ?4 AND owner = ?1))
ORDER BY number DESC
LIMIT ?5;

-- name: due_requests
SELECT body, status, decided_at, decided_by, note, answers
FROM requests WHERE status = 'pending' AND expires_at <= ?1
ORDER BY expires_at LIMIT ?2;

-- name: earliest_request
SELECT min(expires_at) FROM requests WHERE status = 'pending';
