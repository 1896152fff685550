/**
 * What is known of one conversation, and the one way that anything changes it.
 *
 * Live events and fetched pages go through the same functions: records merge by sequence number,
 * items by id, so that receiving something twice changes nothing.
 */

import type { CommittedEvent, ItemView, KnownRecord, LiveEvent } from "../api/shapes";

export interface LivePart {
  kind: "text" | "thinking" | "call";
  text: string;
  name: string;
}

/** The model call that is being streamed. */
export interface LiveStep {
  id: string;
  model: string;
  /** Who speaks, where both sides are models. */
  side: string;
  parts: readonly LivePart[];
  /** False when this window joined in the middle: the head of the text is missing, so none is shown. */
  isWhole: boolean;
}

/** A tool that began; its result arrives as a record. */
export interface LiveTool {
  startedAt: number;
  progress: string;
}

export interface Conversation {
  agentId: string;
  /** By sequence number, without holes, from the oldest that was fetched. */
  records: readonly KnownRecord[];
  hasOlder: boolean;
  items: ReadonlyMap<string, ItemView>;
  live: LiveStep | null;
  tools: ReadonlyMap<string, LiveTool>;
  /** The step that each record was streamed as: it keeps its place on the page when it is committed. */
  stepOf: ReadonlyMap<number, string>;
  /** What was streamed was thrown away, and nothing has followed yet. */
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

/** Take in a page of history; `hasOlder` is given when the page is the oldest one known. */
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

/** Take in the open items as a list has them; what the stream said meanwhile is newer and stays. */
export function withOpenItems(
  conversation: Conversation,
  items: readonly ItemView[],
): Conversation {
  const merged = new Map(items.map((item) => [item.id, item]));
  for (const [id, item] of conversation.items) merged.set(id, item);
  return { ...conversation, items: merged };
}

/** Only what is being streamed: all that is known of a conversation that nobody has opened. */
export function onlyLive({ agentId, live, tools }: Conversation): Conversation | null {
  return live || tools.size ? { ...emptyConversation(agentId), live, tools } : null;
}

/** Forget what was streamed: after a lost connection nobody knows what was missed of it. */
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
