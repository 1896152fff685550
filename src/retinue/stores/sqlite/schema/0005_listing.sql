-- The columns of an agent in the port, and its lookup keys.
CREATE VIEW agents_listed AS
SELECT
    id, owner, kind, descriptor, definition, lifecycle, state,
    (
        SELECT count(*) FROM items
        WHERE agent = agents.number AND ended_at IS NULL AND fate = 'queued' AND silent = 0
    ) AS queued,
    (
        SELECT count(*) FROM items
        WHERE agent = agents.number AND ended_at IS NULL AND fate = 'running'
    ) AS running,
    pinned, active_at, number, identity, last_user_at, parent
FROM agents;
