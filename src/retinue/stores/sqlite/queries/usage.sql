-- name: restore_usage
-- An agent's history contains all its usage, so existing rows are not added to.
INSERT INTO usage (
    owner, day, definition, model, agent, calls, input, output, cache_read, cache_write
)
SELECT
    value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4,
    value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET
    calls = max(calls, excluded.calls),
    input = max(input, excluded.input),
    output = max(output, excluded.output),
    cache_read = max(cache_read, excluded.cache_read),
    cache_write = max(cache_write, excluded.cache_write);

-- name: usage_sums
SELECT
    CASE ?2 WHEN 'day' THEN day WHEN 'definition' THEN definition WHEN 'agent' THEN agent ELSE model END AS key,
    model,
    sum(calls), sum(input), sum(output), sum(cache_read), sum(cache_write)
FROM usage
WHERE owner = ?1 AND day BETWEEN ?3 AND ?4
GROUP BY key, model
ORDER BY key, model;
