-- The conversations of a definition, by when they changed last.
CREATE INDEX agents_conversations ON agents (owner, definition, active_at)
    WHERE kind = 'user' AND lifecycle = 'active';
