/** Short ways to make records, items and agents. */

import type {
  AgentView,
  AssistantRecord,
  ItemView,
  KnownRecord,
  RunRecord,
} from "../src/api/types";
import type { Conversation } from "../src/state/conversation";
import { type Block, committedPage, withLiveStep } from "../src/state/transcript";

const at = "2026-11-16T08:00:00Z";

export function user(seq: number, text: string, item = `m${seq}`): KnownRecord {
  return { kind: "user", seq, at, item, text };
}

export function says(seq: number, text: string): AssistantRecord {
  return { kind: "assistant", seq, at, model: "test", parts: [{ type: "text", text }] };
}

export function calls(seq: number, ...ids: string[]): AssistantRecord {
  const parts = ids.map((id) => ({ type: "call" as const, id, name: "look", arguments: { id } }));
  return { kind: "assistant", seq, at, model: "test", parts };
}

/** The same response, said by a side. */
export function as(side: "side_a" | "side_b", record: AssistantRecord): AssistantRecord {
  return { ...record, side };
}

export function runEnds(seq: number, more: Partial<RunRecord> = {}): RunRecord {
  return { kind: "run", seq, at, outcome: "completed", code: "session_stop", text: "", ...more };
}

export function result(seq: number, call: string): KnownRecord {
  return { kind: "tool", seq, at, call, name: "look", status: "ok", text: "seen" };
}

export function reset(seq: number): KnownRecord {
  return { kind: "reset", seq, at };
}

export function item(id: string, seq: number, fate: ItemView["fate"] = "queued"): ItemView {
  return { id, agentId: "a", seq, kind: "message", text: id, fate, at, sender: { type: "user" } };
}

export function agent(id: string, more: Partial<AgentView> = {}): AgentView {
  return {
    id,
    kind: "user",
    definition: "helper",
    lifecycle: "resting",
    status: "resting",
    createdAt: at,
    updatedAt: at,
    descriptor: {},
    ...more,
  };
}

/** The whole page of a conversation. */
export function transcript(conversation: Conversation, showsCleared: boolean): Block[] {
  return withLiveStep(committedPage(conversation, showsCleared), conversation.live);
}
