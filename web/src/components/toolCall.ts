/** How a tool call stands, in one word and where it needs it, a sentence. */

import type { RequestView, ToolRecord, ToolStatus, WaitView } from "../api/shapes";
import { isForPeople } from "../state/agents";
import type { LiveTool } from "../state/conversation";
import type { IconName } from "./Icon.svelte";

export interface CallState {
  tone: "quiet" | "busy" | "good" | "bad" | "doubt";
  icon: IconName;
  word: string;
  explanation: string;
}

const ENDED: Record<ToolStatus, CallState> = {
  ok: { tone: "good", icon: "check", word: "", explanation: "" },
  error: { tone: "bad", icon: "alert", word: "Failed", explanation: "" },
  refused: {
    tone: "bad",
    icon: "ban",
    word: "Refused",
    explanation: "This agent isn’t allowed to make this call, so it was not run.",
  },
  cancelled: {
    tone: "quiet",
    icon: "stop",
    word: "Cancelled",
    explanation: "Stopped before it finished.",
  },
  interrupted: {
    tone: "doubt",
    icon: "stop",
    word: "Interrupted",
    explanation: "Interrupted before it finished. There is no result.",
  },
  unknown: {
    tone: "doubt",
    icon: "question",
    word: "Outcome unknown",
    explanation:
      "The server stopped during this call, so it is unknown whether it took effect. It was not repeated because running it twice could cause harm. The agent has been informed and decides how to continue.",
  },
  pending: {
    tone: "quiet",
    icon: "clock",
    word: "Awaiting decision",
    explanation:
      "The agent continued without a result. The result will arrive as a separate message.",
  },
  skipped: {
    tone: "quiet",
    icon: "skip",
    word: "Skipped",
    explanation: "An earlier call ended the turn, so this one was not run.",
  },
  erased: {
    tone: "quiet",
    icon: "eraser",
    word: "Removed",
    explanation: "A hook removed this call from the agent’s context after it ran.",
  },
};

interface Call {
  id: string;
  result: ToolRecord | undefined;
  live: LiveTool | undefined;
  wait: WaitView | undefined;
  /** What the owner was asked because of it. */
  request?: RequestView | undefined;
  isAgentRunning: boolean;
  /** The agent works, and of its calls this is the first without a result. */
  isNext?: boolean;
}

/** A call whose subagent needs values: it failed then, and the subagent begins with the values. */
const WANTING: Partial<Record<RequestView["status"], CallState>> = {
  pending: { tone: "doubt", icon: "question", word: "Waiting for you", explanation: "" },
  answered: {
    tone: "good",
    icon: "check",
    word: "Started later",
    explanation: "The subagent started once it had its values. Its result arrives as a message.",
  },
};

export function callState({
  id,
  result,
  live,
  wait,
  request,
  isAgentRunning,
  isNext,
}: Call): CallState {
  const wanting = request?.kind === "variables" ? WANTING[request.status] : undefined;
  if (wanting) return wanting;
  if (result) return ENDED[result.status] ?? ENDED.unknown;
  const quiet: CallState = { tone: "quiet", icon: "tool", word: "", explanation: "" };
  if (wait?.reason === "child") return { ...quiet, tone: "busy", icon: "spin" };
  if (wait && isForPeople(wait.reason)) {
    return { ...quiet, tone: "doubt", icon: "question", word: "Waiting for you" };
  }
  if (wait) return { ...quiet, tone: "doubt", icon: "clock", word: "Waiting" };
  if (!id) return { ...quiet, tone: "busy", icon: "pencil", word: "Preparing" };
  if (live || isNext) return { ...quiet, tone: "busy", icon: "spin", word: "Running" };
  return isAgentRunning
    ? { ...quiet, icon: "clock", word: "Queued" }
    : { ...quiet, word: "No result" };
}

type Arguments = Record<string, unknown>;

/** The arguments in a line; of a question to the owner, what is asked. */
export function preview(tool: string, args: Arguments | null, raw: string): string {
  if (!args) return visible(raw.slice(0, 200));
  if (tool === "ask_user") return brief(question(args));
  const entries = Object.entries(args);
  if (entries.length === 1) return brief(entries[0]?.[1]);
  return entries.map(([name, value]) => `${name}: ${brief(value)}`).join(", ");
}

function question({ title, schema }: Arguments): unknown {
  const form = (schema ?? {}) as {
    title?: string;
    properties?: Record<string, { title?: string }>;
  };
  const fields = Object.entries(form.properties ?? {}).map(([name, field]) => field?.title || name);
  return title || form.title || fields.join(", ");
}

function brief(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return visible(text.replace(/\s+/g, " ").slice(0, 120));
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text in which nothing hides and nothing moves what is beside it; lines and tabs stay. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    if (character === "\n" || character === "\t") return character;
    const code = character.codePointAt(0) ?? 0;
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** JSON with indentation; other text as it is. */
export function pretty(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  const start = value.trimStart()[0];
  if (start !== "{" && start !== "[") return value;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
