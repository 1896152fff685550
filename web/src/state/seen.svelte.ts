/** What this person has looked at: unread and failure marks, shared by the windows of one browser. */

import type { AgentView } from "../api/shapes";
import { onRemembered, recall, remember } from "./keep";

type Times = Record<string, string>;

const KEPT = 500;

class Seen {
  /** Everything up to here counts as seen: set when this browser first opened the app. */
  private since = $state(recall("seen-since", ""));
  private times = $state.raw<Times>(recall("seen", {}));
  private failures = $state.raw<Times>(recall("failures", {}));

  constructor() {
    onRemembered("seen", () => {
      this.times = recall("seen", {});
    });
    onRemembered("failures", () => {
      this.failures = recall("failures", {});
    });
  }

  /** On the first visit nothing is news. */
  begin(agents: readonly AgentView[]): void {
    if (this.since) return;
    const times = agents.map((agent) => agent.updatedAt).sort();
    this.since = times.at(-1) ?? "0000";
    remember("seen-since", this.since);
  }

  isUnread(agent: AgentView): boolean {
    return this.since !== "" && agent.updatedAt > (this.times[agent.id] ?? this.since);
  }

  hasFailed(agentId: string): boolean {
    return agentId in this.failures;
  }

  look(agent: AgentView): void {
    if (agent.updatedAt > (this.times[agent.id] ?? "")) {
      this.times = trimmed({ ...this.times, [agent.id]: agent.updatedAt });
      remember("seen", this.times);
    }
    this.forgetFailure(agent.id);
  }

  fail(agentId: string, at: string): void {
    this.failures = trimmed({ ...this.failures, [agentId]: at });
    remember("failures", this.failures);
  }

  forgetFailure(agentId: string): void {
    if (!(agentId in this.failures)) return;
    const { [agentId]: _, ...rest } = this.failures;
    this.failures = rest;
    remember("failures", rest);
  }
}

function trimmed(times: Times): Times {
  const entries = Object.entries(times);
  if (entries.length <= KEPT) return times;
  entries.sort(([, one], [, other]) => other.localeCompare(one));
  return Object.fromEntries(entries.slice(0, KEPT));
}

export const seen = new Seen();
