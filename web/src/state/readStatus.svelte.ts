/** Unread and failure marks, shared by all windows of the browser. */

import type { AgentView } from "../api/types";
import { loadValue, onStoredValue, storeValue } from "./storage";

type Times = Record<string, string>;

const MAX_ENTRIES = 500;

class ReadStatus {
  /** Everything before the first visit counts as read. */
  private since = $state(loadValue("seen-since", ""));
  private times = $state.raw<Times>(loadValue("seen", {}));
  private failures = $state.raw<Times>(loadValue("failures", {}));

  constructor() {
    onStoredValue("seen", () => {
      this.times = loadValue("seen", {});
    });
    onStoredValue("failures", () => {
      this.failures = loadValue("failures", {});
    });
  }

  /** On the first visit everything counts as read. */
  initialise(agents: readonly AgentView[]): void {
    if (this.since) return;
    const times = agents.map((agent) => agent.updatedAt).sort();
    this.since = times.at(-1) ?? "0000";
    storeValue("seen-since", this.since);
  }

  isUnread(agent: AgentView): boolean {
    return this.since !== "" && agent.updatedAt > (this.times[agent.id] ?? this.since);
  }

  hasFailed(agentId: string): boolean {
    return agentId in this.failures;
  }

  markRead(agent: AgentView): void {
    if (agent.updatedAt > (this.times[agent.id] ?? "")) {
      this.times = trimmed({ ...this.times, [agent.id]: agent.updatedAt });
      storeValue("seen", this.times);
    }
    this.clearFailure(agent.id);
  }

  markFailed(agentId: string, at: string): void {
    this.failures = trimmed({ ...this.failures, [agentId]: at });
    storeValue("failures", this.failures);
  }

  clearFailure(agentId: string): void {
    if (!(agentId in this.failures)) return;
    const { [agentId]: _, ...rest } = this.failures;
    this.failures = rest;
    storeValue("failures", rest);
  }
}

function trimmed(times: Times): Times {
  const entries = Object.entries(times);
  if (entries.length <= MAX_ENTRIES) return times;
  entries.sort(([, one], [, other]) => other.localeCompare(one));
  return Object.fromEntries(entries.slice(0, MAX_ENTRIES));
}

export const readStatus = new ReadStatus();
