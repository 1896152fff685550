-- The subagents of each agent.
ALTER TABLE agents ADD COLUMN parent TEXT;
UPDATE agents SET parent = CAST(descriptor AS TEXT) ->> 'parentAgentId' WHERE kind = 'subagent';
CREATE INDEX agents_parent ON agents (parent) WHERE parent IS NOT NULL;
