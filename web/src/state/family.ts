/** Who an agent works for and who works for it. */

import type { AgentTree, AgentView, ChildView, TreeBranch } from "../api/shapes";

export interface Branch {
  agent: AgentView;
  children: readonly Branch[];
}

const FARTHEST = 64;

/** All agents that the server named, however deep. */
export function members({ ancestors, tree }: AgentTree): AgentView[] {
  return [...ancestors, ...below(tree)];
}

function below({ agent, children }: TreeBranch): AgentView[] {
  return [agent, ...children.flatMap(below)];
}

/** The parents that are known, the nearest first. */
export function ancestors(
  agent: AgentView,
  agents: ReadonlyMap<string, AgentView>,
): readonly AgentView[] {
  const found: AgentView[] = [];
  let parent = agent.parentId ? agents.get(agent.parentId) : undefined;
  while (parent && found.length < FARTHEST && !found.includes(parent)) {
    found.push(parent);
    parent = parent.parentId ? agents.get(parent.parentId) : undefined;
  }
  return found;
}

/** The children with theirs: those at work first, those that ended last. */
export function branches(
  agentId: string,
  agents: ReadonlyMap<string, AgentView>,
  depth = FARTHEST,
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

/** What an agent's parent keeps of it. */
export function entryOf(
  agent: Pick<AgentView, "id" | "parentId">,
  agents: ReadonlyMap<string, AgentView>,
): ChildView | undefined {
  const parent = agent.parentId ? agents.get(agent.parentId) : undefined;
  return parent?.children?.find(({ agentId }) => agentId === agent.id);
}

/** Why a subagent's last run gave no result; empty when it gave one, works, or was ended. */
export function failureOf(child: ChildView | undefined): string {
  if (child?.lifecycle === "running") return "";
  return child?.failure || (child?.lifecycle === "failed" ? "No result returned." : "");
}

/** What a subagent says about its work, while it works. */
export function saying(child: ChildView | undefined): string {
  return (child?.lifecycle === "running" && child.statusText) || "";
}

const LIFECYCLES: Record<ChildView["lifecycle"], string> = {
  running: "Working",
  idle: "Done, accepts more messages",
  failed: "Failed",
  terminated: "Ended",
};

export function lifecycleWord(child: ChildView): string {
  return failureOf(child) ? LIFECYCLES.failed : LIFECYCLES[child.lifecycle];
}

/** Everybody below that would end with an agent. */
export function living(found: readonly Branch[]): AgentView[] {
  return found.flatMap(({ agent, children }) => [
    ...(agent.status === "terminated" ? [] : [agent]),
    ...living(children),
  ]);
}
