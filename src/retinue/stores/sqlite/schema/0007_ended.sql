-- Terminated agents give their names free: schedules and the heartbeat go on with new ones.
UPDATE agents SET identity = json_array('agent', id)
WHERE lifecycle = 'terminated' AND kind NOT IN ('user', 'subagent');
