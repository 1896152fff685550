-- The conversations of a definition, by latest change.
CREATE INDEX agents_conversations ON agents (owner, definition, active_at)
    WHERE kind = 'user' AND lifecycle = 'active';
