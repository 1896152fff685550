/**
 * The state of one conversation and all its transitions.
 *
 * Live events and fetched pages go through the same functions: records merge by sequence number,
 * items by ID, so that duplicates have no effect.
 */

import type { CommittedEvent, ItemView, KnownRecord, LiveEvent } from "../api/types";

export interface LivePart {
  kind: "text" | "thinking" | "call";
  text: string;
  name: string;
}

/** The model call that is being streamed. */
export interface LiveStep {
  id: string;
  model: string;
  /** The active side of a dual-model agent. */
  side: string;
  parts: readonly LivePart[];
  /** False if the window joined mid-stream: the beginning is missing, so nothing is shown. */
  isWhole: boolean;
}

/** A running tool; its result arrives as a record. */
export interface LiveTool {
  startedAt: number;
  progress: string;
}

export interface Conversation {
  agentId: string;
  /** By sequence number without gaps, from the oldest loaded record. */
  records: readonly KnownRecord[];
  hasOlder: boolean;
  items: ReadonlyMap<string, ItemView>;
  live: LiveStep | null;
  tools: ReadonlyMap<string, LiveTool>;
  /** The step that each record was streamed as, so that it keeps its element when committed. */
  stepOf: ReadonlyMap<number, string>;
  /** The streamed output was discarded and nothing has followed yet. */
  isRetrying: boolean;
}

export function emptyConversation(agentId: string): Conversation {
  return {
    agentId,
    records: [],
    hasOlder: false,
    items: new Map(),
    live: null,
    tools: new Map(),
    stepOf: new Map(),
    isRetrying: false,
  };
}

export function mergeRecords(
  known: readonly KnownRecord[],
  more: readonly KnownRecord[],
): readonly KnownRecord[] {
  const first = more[0];
  if (!first) return known;
  const last = known.at(-1);
  if (!last || first.seq > last.seq) return [...known, ...more];
  if ((more.at(-1)?.seq ?? 0) < (known[0]?.seq ?? 0)) return [...more, ...known];
  const bySeq = new Map<number, KnownRecord>();
  for (const record of more) bySeq.set(record.seq, record);
  for (const record of known) bySeq.set(record.seq, record);
  if (bySeq.size === known.length) return known;
  return [...bySeq.values()].sort((one, other) => one.seq - other.seq);
}

/** Merges a page of history; `hasOlder` is set if it is the oldest page. */
export function withHistory(
  conversation: Conversation,
  records: readonly KnownRecord[],
  hasOlder?: boolean,
): Conversation {
  return {
    ...conversation,
    records: mergeRecords(conversation.records, records),
    hasOlder: hasOlder ?? conversation.hasOlder,
  };
}

/** Merges the list of open items; items from events are newer and win. */
export function withOpenItems(
  conversation: Conversation,
  items: readonly ItemView[],
): Conversation {
  const merged = new Map(items.map((item) => [item.id, item]));
  for (const [id, item] of conversation.items) merged.set(id, item);
  return { ...conversation, items: merged };
}

/** Only the live state, for conversations that are not open. */
export function onlyLive({ agentId, live, tools }: Conversation): Conversation | null {
  return live || tools.size ? { ...emptyConversation(agentId), live, tools } : null;
}

/** Drops the live state, which is incomplete after a lost connection. */
export function withoutLive(conversation: Conversation): Conversation {
  return conversation.live || conversation.tools.size || conversation.isRetrying
    ? { ...conversation, live: null, tools: new Map(), isRetrying: false }
    : conversation;
}

export function applyEvent(
  conversation: Conversation,
  event: CommittedEvent | LiveEvent,
  now: number,
): Conversation {
  switch (event.type) {
    case "record":
      return withRecord(conversation, event.record);
    case "item":
      return {
        ...conversation,
        items: new Map(conversation.items).set(event.item.id, event.item),
      };
    case "agent":
      return event.agent.status === "resting" ? withoutLive(conversation) : conversation;
    case "step":
      return withStep(conversation, event);
    case "delta":
      return withDelta(conversation, event);
    case "tool":
      return withTool(conversation, event, now);
    default:
      return conversation;
  }
}

function withRecord(conversation: Conversation, record: KnownRecord): Conversation {
  const records = mergeRecords(conversation.records, [record]);
  if (records === conversation.records) return conversation;
  const next: Conversation = { ...conversation, records, isRetrying: false };
  if (record.kind === "assistant") {
    if (conversation.live) {
      next.stepOf = new Map(conversation.stepOf).set(record.seq, conversation.live.id);
    }
    next.live = null;
  } else if (record.kind === "tool" && conversation.tools.has(record.call)) {
    const tools = new Map(conversation.tools);
    tools.delete(record.call);
    next.tools = tools;
  } else if (record.kind === "reset") {
    next.live = null;
    next.tools = new Map();
  }
  return next;
}

function withStep(
  conversation: Conversation,
  event: Extract<LiveEvent, { type: "step" }>,
): Conversation {
  if (event.state === "discarded") {
    const wasSeen = conversation.live?.parts.some((part) => part.text) ?? false;
    return { ...conversation, live: null, isRetrying: wasSeen };
  }
  return {
    ...conversation,
    live: {
      id: event.step,
      model: event.model ?? "",
      side: event.side ?? "",
      parts: [],
      isWhole: true,
    },
  };
}

function withDelta(
  conversation: Conversation,
  event: Extract<LiveEvent, { type: "delta" }>,
): Conversation {
  const known = conversation.live;
  const step: LiveStep =
    known?.id === event.step
      ? known
      : { id: event.step, model: "", side: "", parts: [], isWhole: false };
  const parts = [...step.parts];
  while (parts.length < event.part) parts.push({ kind: "text", text: "", name: "" });
  const part = parts[event.part];
  parts[event.part] = {
    kind: event.kind,
    text: (part?.text ?? "") + event.text,
    name: event.name || part?.name || "",
  };
  return { ...conversation, live: { ...step, parts }, isRetrying: false };
}

function withTool(
  conversation: Conversation,
  event: Extract<LiveEvent, { type: "tool" }>,
  now: number,
): Conversation {
  const known = conversation.tools.get(event.call);
  const tools = new Map(conversation.tools).set(event.call, {
    startedAt: known?.startedAt ?? now,
    progress: event.text || known?.progress || "",
  });
  return { ...conversation, tools };
}
