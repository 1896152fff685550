/** Builds the transcript from records, open items and the live step. */

import type {
  AssistantRecord,
  Fate,
  FileReference,
  HandoffRecord,
  ItemView,
  KnownRecord,
  NoteRecord,
  ResetRecord,
  RunRecord,
  SummaryRecord,
  ToolRecord,
  Usage,
} from "../api/types";
import type { Conversation, LiveStep } from "./conversation";
import { isReminder, markRuns, markSpeakers, type SideTurn } from "./sides";

export type PartBlock =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  | {
      type: "call";
      /** Empty while the call is being streamed. */
      id: string;
      name: string;
      arguments: Record<string, unknown> | null;
      /** Arguments as text: incomplete, or not a JSON object. */
      raw: string;
    };

export interface UserBlock {
  type: "user";
  key: string;
  id: string;
  text: string;
  /** The message was sent with a context line. */
  hasContext: boolean;
  files: readonly FileReference[];
  at: string;
  /** The ID of the agent that wrote it; empty for the user. */
  author: string;
  /** The addressed side of a dual-model agent. */
  to: string;
  fate: Fate | null;
  reason: string;
  /** The position in the queue from 1; 0 if not queued. */
  position: number;
}

export interface SystemBlock {
  type: "system";
  key: string;
  text: string;
  origin: string;
  /** The addressed side; empty for both. */
  to: string;
  silent: boolean;
  files: readonly FileReference[];
  at: string;
  isQueued: boolean;
}

export interface AssistantBlock {
  type: "assistant";
  key: string;
  parts: readonly PartBlock[];
  isLive: boolean;
  at: string;
  model: string;
  usage: Usage | null;
  durationMs: number;
  finish: string;
  side: string;
  /** Set on the first block of a side's turn. */
  sideTurn: SideTurn | null;
  /** The definition that wrote it, if a handoff followed. */
  spokenBy: string;
  /** The last block of a turn, which shows time, model and copy button. */
  endsTurn: boolean;
}

export interface RunBlock {
  type: "run";
  key: string;
  record: RunRecord;
  /** The side that acted last. */
  side: string;
}

export type Block =
  | UserBlock
  | SystemBlock
  | AssistantBlock
  | { type: "result"; key: string; record: ToolRecord }
  | { type: "reset"; key: string; record: ResetRecord }
  | { type: "summary"; key: string; record: SummaryRecord }
  | RunBlock
  | { type: "handoff"; key: string; record: HandoffRecord }
  | { type: "note"; key: string; record: NoteRecord; isLatest: boolean }
  | { type: "unknown"; key: string; kind: string; at: string };

const CONTEXT_LINE = /^<context(?:[ \t]+[A-Za-z][\w-]*="[^"\n]*")*[ \t]*\/>[ \t]*(?:\r?\n|$)/;

/** A message without its context line; messages from agents have none. */
export function visibleText(text: string, author = ""): string {
  return author ? text : text.replace(CONTEXT_LINE, "");
}

/** True if the message has a context line. */
export function hasContext(text: string, author = ""): boolean {
  return !author && CONTEXT_LINE.test(text);
}

/** True for agent IDs; users and schedules have other forms. */
export function isAgentId(text: string): boolean {
  return /^[a-z][a-z0-9]{23}$/.test(text);
}

/** The sequence number of the last reset, or 0. */
export function clearedBefore(records: readonly KnownRecord[]): number {
  return records.findLast((record) => record.kind === "reset")?.seq ?? 0;
}

export function results(records: readonly KnownRecord[]): Map<string, ToolRecord> {
  const found = new Map<string, ToolRecord>();
  for (const record of records) if (record.kind === "tool") found.set(record.call, record);
  return found;
}

/** The committed data, which does not change during streaming. */
export type CommittedData = Pick<Conversation, "records" | "items" | "stepOf" | "hasOlder">;

/** The transcript without the live step: committed blocks and the queue. */
export interface Page {
  blocks: readonly Block[];
  queue: readonly Block[];
  /** True if the beginning of the first run is not loaded. */
  isCutOff: boolean;
}

export function committedPage(conversation: CommittedData, showsCleared: boolean): Page {
  const from = showsCleared ? 0 : clearedBefore(conversation.records);
  const records = conversation.records.filter((record) => record.seq >= from);
  const called = new Set<string>();
  const recorded = new Set<string>();
  const blocks: Block[] = [];
  for (const record of records) {
    if (record.kind === "assistant") {
      for (const part of record.parts) if (part.type === "call") called.add(part.id);
    }
    if ("item" in record && record.item && record.kind !== "note") recorded.add(record.item);
    const block = recordBlock(record, conversation, called);
    if (block) blocks.push(block);
  }
  const last = blocks.at(-1);
  if (last?.type === "note") last.isLatest = true;
  const isCutOff = conversation.hasOlder && from === 0;
  markAll(blocks, isCutOff);
  return { blocks, queue: queuedBlocks(conversation.items, recorded), isCutOff };
}

/** Inserts the live step and updates only its neighbours. */
export function withLiveStep(page: Page, live: LiveStep | null): Block[] {
  if (!live?.isWhole) return [...page.blocks, ...page.queue];
  const sideTurn = liveBlock(live);
  if (live.side) {
    const blocks = [...page.blocks.map((block) => ({ ...block })), sideTurn];
    markAll(blocks, page.isCutOff);
    return [...blocks, ...page.queue];
  }
  const blocks = [...page.blocks];
  const last = blocks.at(-1);
  if (last?.type === "assistant" && last.endsTurn && !last.side) {
    blocks[blocks.length - 1] = { ...last, endsTurn: false };
  }
  return [...blocks, sideTurn, ...page.queue];
}

function markAll(blocks: readonly Block[], isCutOff: boolean): void {
  markTurnEnds(blocks);
  markSpeakers(blocks);
  markRuns(blocks, isCutOff);
}

function recordBlock(
  record: KnownRecord,
  conversation: CommittedData,
  called: ReadonlySet<string>,
): Block | null {
  const key = `r:${record.seq}`;
  switch (record.kind) {
    case "start":
      return null;
    case "user": {
      const item = conversation.items.get(record.item);
      const author = isAgentId(record.sender ?? "") ? (record.sender ?? "") : "";
      return {
        type: "user",
        key: `i:${record.item}`,
        id: record.item,
        text: visibleText(record.text, author),
        hasContext: hasContext(record.text, author),
        files: record.files ?? [],
        at: record.at,
        author,
        to: record.to ?? "",
        fate: item?.fate ?? null,
        reason: item?.reason ?? "",
        position: 0,
      };
    }
    case "system":
      return {
        type: "system",
        key: record.item ? `i:${record.item}` : key,
        text: record.text,
        origin: record.origin,
        to: record.to ?? "",
        silent: record.silent ?? false,
        files: record.files ?? [],
        at: record.at,
        isQueued: false,
      };
    case "assistant":
      return assistantBlock(record, conversation.stepOf.get(record.seq));
    case "tool":
      return called.has(record.call) ? null : { type: "result", key, record };
    case "reset":
      return { type: "reset", key, record };
    case "summary":
      return { type: "summary", key, record };
    case "run":
      return { type: "run", key, record, side: "" };
    case "handoff":
      return { type: "handoff", key, record };
    case "note":
      return { type: "note", key, record, isLatest: false };
    default:
      return unknownBlock(record, key);
  }
}

/** Record kinds of newer servers are shown by name. */
function unknownBlock(record: never, key: string): Block {
  const { kind, at } = record as { kind: string; at: string };
  return { type: "unknown", key, kind, at };
}

function assistantBlock(record: AssistantRecord, step: string | undefined): AssistantBlock {
  return {
    type: "assistant",
    key: step ? `s:${step}` : `r:${record.seq}`,
    parts: record.parts.map((part) =>
      part.type === "call"
        ? {
            type: "call",
            id: part.id,
            name: part.name,
            arguments: part.malformed === undefined ? (part.arguments ?? {}) : null,
            raw: part.malformed ?? "",
          }
        : { type: part.type, text: part.text },
    ),
    isLive: false,
    at: record.at,
    model: record.model,
    usage: record.usage ?? null,
    durationMs: record.durationMs ?? 0,
    finish: record.finish ?? "",
    side: record.side ?? "",
    sideTurn: null,
    spokenBy: "",
    endsTurn: false,
  };
}

function liveBlock(live: LiveStep): AssistantBlock {
  return {
    type: "assistant",
    key: `s:${live.id}`,
    parts: live.parts.map((part) =>
      part.kind === "call"
        ? { type: "call", id: "", name: part.name, arguments: null, raw: part.text }
        : { type: part.kind, text: part.text },
    ),
    isLive: true,
    at: "",
    model: live.model,
    usage: null,
    durationMs: 0,
    finish: "",
    side: live.side,
    sideTurn: null,
    spokenBy: "",
    endsTurn: false,
  };
}

function markTurnEnds(blocks: readonly Block[]): void {
  blocks.forEach((block, index) => {
    if (block.type !== "assistant" || block.isLive) return;
    const next = blocks[index + 1];
    const goesOn =
      next?.type === "result" ||
      (next?.type === "assistant" && next.side === block.side) ||
      (next?.type === "system" && isReminder(next));
    block.endsTurn = !goesOn && !block.parts.some((part) => part.type === "call");
  });
}

/** Other kinds settle a call or withdraw an item; their effects are recorded. */
const SHOWN_KINDS: ReadonlySet<string> = new Set(["message", "system"]);

function queuedBlocks(
  items: ReadonlyMap<string, ItemView>,
  recorded: ReadonlySet<string>,
): Block[] {
  const open = [...items.values()]
    .filter((item) => SHOWN_KINDS.has(item.kind) && !recorded.has(item.id) && isOpen(item.fate))
    .sort((one, other) => one.seq - other.seq);
  let position = 0;
  return open.map((item): Block => {
    if (item.kind === "system") {
      return {
        type: "system",
        key: `i:${item.id}`,
        text: item.text,
        origin: item.sender.id ?? item.sender.type,
        to: "",
        silent: item.silent ?? false,
        files: item.files ?? [],
        at: item.at,
        isQueued: true,
      };
    }
    const author = item.sender.type === "agent" ? (item.sender.id ?? "") : "";
    return {
      type: "user",
      key: `i:${item.id}`,
      id: item.id,
      text: visibleText(item.text, author),
      hasContext: hasContext(item.text, author),
      files: item.files ?? [],
      at: item.at,
      author,
      to: "",
      fate: item.fate,
      reason: item.reason ?? "",
      position: item.fate === "queued" ? ++position : 0,
    };
  });
}

const FAILURE = /^The (?:\w+ )?agent ".*" \([a-z][a-z0-9]{23}\) (?:failed|was cancelled|ended \()/s;

const REPORT =
  /^Subagent \(reference: [a-z][a-z0-9]{23}\) has (returned the following result|reported a failure):\n\n(.*)$/s;

/** The result of a subagent's run, if the message reports one. */
export function reportOf(text: string): { title: string; text: string } | null {
  const found = REPORT.exec(text);
  if (!found) return null;
  return {
    title: found[1] === "reported a failure" ? "Failure in" : "Result from",
    text: found[2] ?? "",
  };
}

const SCHEDULED = /^\[(schedule|heartbeat)\] ([^\n]*)\n((?:\w+: [^\n]*\n)*)\n(.*)$/s;

/** Title and due time from the header of a scheduled message. */
export function scheduledOf(text: string): { title: string; due: string; text: string } | null {
  const [, kind, title = "", head = "", rest = ""] = SCHEDULED.exec(text) ?? [];
  if (!kind) return null;
  const due = /^due: (.*)$/m.exec(head)?.[1] ?? "";
  return { title: `${kind === "schedule" ? "Schedule" : "Heartbeat"}: ${title}`, due, text: rest };
}

/** True if the engine reports a failure; messages by others are not considered. */
export function isFailure(block: SystemBlock): boolean {
  if (!isAgentId(block.origin)) return false;
  return FAILURE.test(block.text) || reportOf(block.text)?.title === "Failure in";
}

export function isOpen(fate: Fate): boolean {
  return fate === "queued" || fate === "running" || fate === "waiting";
}
