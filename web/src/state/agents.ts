/** Order, groups and titles of the conversation list. */

import type { AgentView, DefinitionEntry } from "../api/types";
import { visibleText } from "./transcript";

export interface Group {
  key: string;
  title: string;
  /** The definition of the group; null for pinned and background groups. */
  definition: string | null;
  agents: AgentView[];
}

/** The last user activity: agents do not reorder the list. */
function touched(agent: AgentView): string {
  return agent.lastUserActivityAt ?? agent.createdAt;
}

function newestFirst(one: AgentView, other: AgentView): number {
  return touched(other).localeCompare(touched(one)) || other.id.localeCompare(one.id);
}

export function isConversation(agent: AgentView): boolean {
  return agent.kind === "user";
}

export function isUntouched(agent: AgentView): boolean {
  return !agent.lastUserActivityAt && !agent.name && !agent.lastSnippet && !agent.pinnedAt;
}

/** The kinds of background agents, in display order. */
export const BACKGROUND_KINDS = {
  permanent: "Permanent agents",
  subagent: "Background agents",
  cron: "Scheduled",
  heartbeat: "Heartbeat",
  swarm: "Swarm",
  system: "System",
} as const;

/** Labels for one agent of each kind. */
const KIND_LABELS: Record<string, string> = {
  user: "Conversation",
  permanent: "Permanent agent",
  subagent: "Background agent",
  cron: "Scheduled agent",
  heartbeat: "Heartbeat",
  swarm: "Swarm agent",
  system: "System agent",
};

export function kindLabel(kind: string): string {
  return KIND_LABELS[kind] ?? kind;
}

/** The name, else the first message; for conversations started by agents, the definition. */
export function agentTitle(
  agent: AgentView,
  definitions: ReadonlyMap<string, DefinitionEntry>,
): string {
  const { name, id } = agent.descriptor as { name?: string; id?: string };
  const given = agent.name || name;
  if (given) return given;
  if (!isConversation(agent)) return (agent.kind === "cron" && id) || kindLabel(agent.kind);
  const title = visibleText(agent.title ?? "").trim();
  const isSpokenTo = Boolean(agent.lastUserActivityAt) || !agent.lastSnippet;
  if (!title && !isSpokenTo) return definitionTitle(agent.definition, definitions);
  return plainLine(title) || plainLine(agent.lastSnippet ?? "") || "New conversation";
}

/** The name of an agent as seen by other agents: its name, else its definition. */
export function workerTitle(
  agent: AgentView,
  definitions: ReadonlyMap<string, DefinitionEntry>,
): string {
  const isNamed = agent.name || !isConversation(agent);
  return isNamed ? agentTitle(agent, definitions) : definitionTitle(agent.definition, definitions);
}

/** A label for the agent's status; empty when idle. */
export function statusLabel(
  agent: AgentView,
  agents: ReadonlyMap<string, AgentView>,
  definitions: ReadonlyMap<string, DefinitionEntry>,
): string {
  if (agent.status === "terminated") return "Ended";
  if (agent.retryAt) return "Retrying later";
  if (agent.status === "running") return "Working";
  if (agent.status === "queued") return "Queued";
  if (agent.status !== "waiting") return "";
  const waits = agent.waits ?? [];
  if (waits.some(({ reason }) => needsUser(reason))) return "Waiting for you";
  const others = waits.flatMap(({ agentId }) => {
    const other = agentId && agents.get(agentId);
    return other ? [workerTitle(other, definitions)] : [];
  });
  return others.length ? `Waiting for ${others.join(", ")}` : "Waiting";
}

/** True if the user has to resolve the wait. */
export function needsUser(reason: string): boolean {
  return reason === "permission" || reason === "variables";
}

/** A label for what a message is waiting for. */
export function waitLabel(reason: string): string {
  if (needsUser(reason)) return "Waiting for you";
  if (reason === "child") return "Waiting for another agent";
  return reason ? `Waiting: ${reason}` : "Waiting";
}

/** The first line of a Markdown text without markup. */
function plainLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line
    .replace(/^(?:#+|>|[-*+]|\d+[.)])\s+/, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*|__|~~|`/g, "")
    .trim();
}

export function definitionTitle(
  name: string,
  definitions: ReadonlyMap<string, DefinitionEntry>,
): string {
  return definitions.get(name)?.displayName || name;
}

export function matches(agent: AgentView, query: string, definition: string): boolean {
  const wanted = query.trim().toLocaleLowerCase();
  if (!wanted) return true;
  const text = [agent.name, agent.title, agent.lastSnippet, definition, agent.definition].join(
    "\n",
  );
  return text.toLocaleLowerCase().includes(wanted);
}

export function grouped(
  agents: Iterable<AgentView>,
  definitions: ReadonlyMap<string, DefinitionEntry>,
): Group[] {
  const pinned: AgentView[] = [];
  const byDefinition = new Map<string, AgentView[]>();
  for (const agent of agents) {
    if (agent.pinnedAt) pinned.push(agent);
    else if (isConversation(agent)) {
      byDefinition.set(agent.definition, [...(byDefinition.get(agent.definition) ?? []), agent]);
    }
  }
  pinned.sort((one, other) => (other.pinnedAt ?? "").localeCompare(one.pinnedAt ?? ""));
  const groups: Group[] = [...byDefinition]
    .map(([name, members]) => ({
      key: `d:${name}`,
      title: definitionTitle(name, definitions),
      definition: name,
      agents: members.sort(newestFirst),
    }))
    .sort((one, other) => one.title.localeCompare(other.title));
  if (pinned.length) {
    groups.unshift({ key: "pinned", title: "Pinned", definition: null, agents: pinned });
  }
  return groups;
}

/** Background agents by kind, without pinned ones. */
export function backgroundGroups(agents: Iterable<AgentView>): Group[] {
  const found = [...agents].filter((agent) => !isConversation(agent) && !agent.pinnedAt);
  return Object.entries(BACKGROUND_KINDS)
    .map(([kind, title]) => ({
      key: kind,
      title,
      definition: null,
      agents: found.filter((agent) => agent.kind === kind).sort(newestFirst),
    }))
    .filter((group) => group.agents.length > 0);
}

export const HUES = 12;

/** A hue for each name, derived from its hash; collisions get the next free hue. */
export function huesOf(names: Iterable<string>): Map<string, number> {
  const hues = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of [...names].sort()) {
    let hue = hashOf(name) % HUES;
    while (taken.has(hue) && taken.size < HUES) hue = (hue + 5) % HUES;
    taken.add(hue);
    hues.set(name, hue);
  }
  return hues;
}

function hashOf(text: string): number {
  let hash = 2166136261;
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}
