/** The graph of a definition as a tree; cycles stop at the repeated node. */

import type { DefinitionGraph, GraphDefinition, GraphEntry, GraphPrompt } from "../api/types";

/** Something that a prompt can call, with its target. */
export interface Leaf {
  entry: GraphEntry;
  /** Short properties, such as “blocking”. */
  facts: readonly string[];
  definition: GraphDefinition | undefined;
  prompt: GraphPrompt | undefined;
  /** The target is one of its ancestors. */
  isCycle: boolean;
  /** The target failed to load. */
  isMissing: boolean;
}

export const GROUPS: readonly { kind: GraphEntry["kind"]; title: string }[] = [
  { kind: "tool", title: "Tools" },
  { kind: "prompt", title: "Prompts" },
  { kind: "subagent", title: "Subagents" },
  { kind: "handoff", title: "Handoffs" },
];

/** What a prompt can call, of one kind; `above` has the keys of its ancestors. */
export function leaves(
  graph: DefinitionGraph,
  prompt: GraphPrompt,
  kind: GraphEntry["kind"],
  above: readonly string[],
): readonly Leaf[] {
  return (prompt.tools ?? [])
    .filter((entry) => entry.kind === kind)
    .map((entry) => {
      const definition = graph.definitions.find(
        ({ name }) => (kind === "subagent" || kind === "handoff") && name === entry.target,
      );
      const called = graph.prompts.find(({ name }) => kind === "prompt" && name === entry.target);
      return {
        entry,
        facts: facts(entry),
        definition,
        prompt: called,
        isCycle: above.includes(keyOf(entry)),
        isMissing: kind !== "tool" && !definition && !called,
      };
    });
}

/** The key of a node in `above`. */
export function keyOf({ kind, target }: Pick<GraphEntry, "kind" | "target">): string {
  return `${kind === "prompt" ? "prompt" : "definition"}:${target}`;
}

function facts(entry: GraphEntry): string[] {
  const found = [entry.optional ? `only when ${entry.optional} is on` : ""];
  if (entry.kind === "subagent") {
    found.unshift(
      entry.isImmediate ? "starts automatically" : "",
      entry.isBlocking ? "blocking" : "non-blocking",
      entry.isResumable ? "resumable" : "single run",
    );
  }
  return found.filter(Boolean);
}

export const RULES: Record<string, string> = {
  stop_tool: "ends the turn",
  session_stop: "ends the run with a result",
  session_fail: "marks the run as failed",
  session_status: "reports the status",
};

export const LISTS: Record<GraphDefinition["lists"][number]["name"], string> = {
  toolAllowlist: "Allowed tools",
  toolDenylist: "Denied tools",
  toolApprovals: "Tools that need approval",
  capabilityAllowlist: "Allowed capabilities",
  capabilityDenylist: "Denied capabilities",
  skillAllowlist: "Allowed skills",
  skillDenylist: "Denied skills",
  agentAllowlist: "Allowed agents",
  agentDenylist: "Denied agents",
};

export const TYPES: Record<GraphDefinition["type"], string> = {
  ai_human: "Chat agent",
  dual_ai: "Dual-model agent",
};
