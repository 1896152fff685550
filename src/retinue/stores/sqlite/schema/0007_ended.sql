-- Terminated agents release their names: schedules and the heartbeat continue with new agents.
UPDATE agents SET identity = json_array('agent', id)
WHERE lifecycle = 'terminated' AND kind NOT IN ('user', 'subagent');
