/** The parents and subagents of an agent. */

import type { AgentTree, AgentView, ChildView, TreeBranch } from "../api/types";

export interface Branch {
  agent: AgentView;
  children: readonly Branch[];
}

const MAX_DEPTH = 64;

/** All agents in the server's response, at any depth. */
export function members({ ancestors, tree }: AgentTree): AgentView[] {
  return [...ancestors, ...below(tree)];
}

function below({ agent, children }: TreeBranch): AgentView[] {
  return [agent, ...children.flatMap(below)];
}

/** The known parents, nearest first. */
export function ancestors(
  agent: AgentView,
  agents: ReadonlyMap<string, AgentView>,
): readonly AgentView[] {
  const found: AgentView[] = [];
  let parent = agent.parentId ? agents.get(agent.parentId) : undefined;
  while (parent && found.length < MAX_DEPTH && !found.includes(parent)) {
    found.push(parent);
    parent = parent.parentId ? agents.get(parent.parentId) : undefined;
  }
  return found;
}

/** The children with their children: working agents first, ended ones last. */
export function branches(
  agentId: string,
  agents: ReadonlyMap<string, AgentView>,
  depth = MAX_DEPTH,
): readonly Branch[] {
  if (depth === 0) return [];
  return [...agents.values()]
    .filter(({ parentId }) => parentId === agentId)
    .sort((one, other) => rank(one) - rank(other) || one.createdAt.localeCompare(other.createdAt))
    .map((agent) => ({ agent, children: branches(agent.id, agents, depth - 1) }));
}

function rank({ status }: AgentView): number {
  return { running: 0, waiting: 0, queued: 0, resting: 1, terminated: 2 }[status];
}

/** The parent's registry entry of an agent. */
export function entryOf(
  agent: Pick<AgentView, "id" | "parentId">,
  agents: ReadonlyMap<string, AgentView>,
): ChildView | undefined {
  const parent = agent.parentId ? agents.get(agent.parentId) : undefined;
  return parent?.children?.find(({ agentId }) => agentId === agent.id);
}

/** Why a subagent's last run failed; empty if it succeeded, is running or was ended. */
export function failureOf(child: ChildView | undefined): string {
  if (child?.lifecycle === "running") return "";
  return child?.failure || (child?.lifecycle === "failed" ? "No result returned." : "");
}

/** The status that a running subagent reported. */
export function statusTextOf(child: ChildView | undefined): string {
  return (child?.lifecycle === "running" && child.statusText) || "";
}

const LIFECYCLES: Record<ChildView["lifecycle"], string> = {
  running: "Working",
  idle: "Done, accepts more messages",
  failed: "Failed",
  terminated: "Ended",
};

export function lifecycleLabel(child: ChildView): string {
  return failureOf(child) ? LIFECYCLES.failed : LIFECYCLES[child.lifecycle];
}

/** All descendants that have not ended. */
export function liveAgents(found: readonly Branch[]): AgentView[] {
  return found.flatMap(({ agent, children }) => [
    ...(agent.status === "terminated" ? [] : [agent]),
    ...liveAgents(children),
  ]);
}
