-- name: put_variable
INSERT INTO variables (owner, name, sealed) VALUES (?1, ?2, ?3)
ON CONFLICT (owner, name) DO UPDATE SET sealed = excluded.sealed;

-- name: restore_variable
INSERT INTO variables (owner, name, sealed) VALUES (?1, ?2, ?3)
ON CONFLICT (owner, name) DO NOTHING;

-- name: delete_variable
DELETE FROM variables WHERE owner = ?1 AND name = ?2;

-- name: variables
SELECT owner, name, sealed FROM variables ORDER BY owner, name;
