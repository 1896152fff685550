/** Work that a call delegated to another agent, with its state and result. */

import type { ItemView, ToolRecord, WaitView } from "../api/types";
import { type Block, isAgentId, isOpen } from "./transcript";

export interface Delegation {
  /** The worker. */
  agentId: string;
  /** The worker's name from the result. */
  name: string;
  /** The delegated message. */
  itemId: string;
  state: "waiting" | "started" | "complete" | "late" | "failed";
  response: string;
  isTruncated: boolean;
  /** Why there is no response. */
  problem: string;
  durationMs: number;
  toolCalls: readonly { name: string; durationMs: number }[];
}

/** The delegated work of a call; null for other calls. */
export function delegationOf(
  result: ToolRecord | undefined,
  wait: WaitView | undefined,
): Delegation | null {
  if (result) return settled(result);
  if (wait?.reason !== "child" || !wait.agentId) return null;
  return { ...NOTHING, agentId: wait.agentId, itemId: wait.itemId ?? "" };
}

const NOTHING: Delegation = {
  agentId: "",
  name: "",
  itemId: "",
  state: "waiting",
  response: "",
  isTruncated: false,
  problem: "",
  durationMs: 0,
  toolCalls: [],
};

const STATES: Record<string, Delegation["state"]> = {
  started: "started",
  complete: "complete",
  timeout: "late",
};

/** The engine's result when a subagent was started or messaged without waiting. */
const ON_ITS_WAY = /^(?:Started the subagent "|Sent to [a-z][a-z0-9]{23}\. )/;

/** The reference line for the parent's model at the end of a subagent's answer. */
const REFERENCE = /\n\nReference of this subagent: [a-z][a-z0-9]{23}$/;

function ofSubagent(result: ToolRecord, agentId: string): Delegation {
  const work = { ...NOTHING, agentId, durationMs: result.durationMs ?? 0 };
  if (ON_ITS_WAY.test(result.text)) return { ...work, state: "started" };
  const text = result.text.replace(REFERENCE, "");
  return result.status === "ok"
    ? { ...work, state: "complete", response: text }
    : { ...work, state: "failed", problem: text };
}

function settled(result: ToolRecord): Delegation | null {
  if (result.agent) return ofSubagent(result, result.agent);
  const told = parsed(result.text);
  const agentId = text(told?.sessionId);
  if (!told || !isAgentId(agentId) || !text(told.status)) return null;
  return {
    agentId,
    name: text(told.sessionName) || text(told.agentId),
    itemId: text(told.responseId),
    state: STATES[text(told.status)] ?? "failed",
    response: text(told.response),
    isTruncated: told.truncated === true,
    problem: text(told.message),
    durationMs: number(told.durationMs),
    toolCalls: Array.isArray(told.toolCalls) ? told.toolCalls.map(toolCall) : [],
  };
}

function parsed(json: string): Record<string, unknown> | null {
  if (!json.startsWith("{")) return null;
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function toolCall(entry: unknown): { name: string; durationMs: number } {
  const { name, durationMs } = (entry ?? {}) as Record<string, unknown>;
  return { name: text(name), durationMs: number(durationMs) };
}

const text = (value: unknown) => (typeof value === "string" ? value : "");
const number = (value: unknown) => (typeof value === "number" ? value : 0);

/** The blocks that belong to one message; all blocks if no message is given. */
export function workOn(blocks: readonly Block[], itemId: string): readonly Block[] {
  if (!itemId) return blocks;
  const start = blocks.findIndex((block) => block.key === `i:${itemId}`);
  if (start < 0) return [];
  const after = blocks
    .slice(start + 1)
    .filter((block) => block.type !== "user" || block.position === 0);
  const end = after.findIndex(
    (block) =>
      block.type === "run" || (block.type === "assistant" && block.endsTurn && !block.side),
  );
  return end < 0 ? after : after.slice(0, end + 1);
}

/** The number of queued messages ahead of this one; null if it is not queued. */
export function queuedBefore(items: ReadonlyMap<string, ItemView>, itemId: string): number | null {
  const item = items.get(itemId);
  if (item?.fate !== "queued") return null;
  return [...items.values()].filter(
    (other) => other.kind === "message" && isOpen(other.fate) && other.seq < item.seq,
  ).length;
}
