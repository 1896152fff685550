-- Model usage, summed by day (as a proleptic ordinal, in UTC). Rows outlive their agents.
CREATE TABLE usage (
    owner TEXT NOT NULL,
    day INTEGER NOT NULL,
    definition TEXT NOT NULL,
    model TEXT NOT NULL,
    agent TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    PRIMARY KEY (owner, day, definition, model, agent)
) WITHOUT ROWID;

-- Usage from before this table existed, as far as the histories contain it.
INSERT INTO usage
SELECT
    agents.owner,
    CAST(julianday(substr(line ->> 'at', 1, 10)) - 1721424.5 AS INTEGER) AS day,
    agents.definition,
    line ->> 'model' AS model,
    agents.id,
    count(*),
    sum(coalesce(line ->> '$.usage.input', 0)),
    sum(coalesce(line ->> '$.usage.output', 0)),
    sum(coalesce(line ->> '$.usage.cacheRead', 0)),
    sum(coalesce(line ->> '$.usage.cacheWrite', 0))
FROM (SELECT agent, CAST(body AS TEXT) AS line FROM records WHERE instr(body, CAST('"usage":' AS BLOB)))
JOIN agents ON agents.number = agent
WHERE line ->> 'kind' IN ('assistant', 'summary') AND line ->> 'model' <> ''
GROUP BY agents.owner, day, agents.definition, model, agents.id;
