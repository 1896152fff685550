/** The state of a tool call: a label and, where needed, an explanation. */

import type { RequestView, ToolRecord, ToolStatus, WaitView } from "../api/types";
import { needsUser } from "../state/agents";
import type { LiveTool } from "../state/conversation";
import type { IconName } from "./Icon.svelte";

export interface CallState {
  tone: "quiet" | "busy" | "good" | "bad" | "doubt";
  icon: IconName;
  label: string;
  explanation: string;
}

const RESULT_STATES: Record<ToolStatus, CallState> = {
  ok: { tone: "good", icon: "check", label: "", explanation: "" },
  error: { tone: "bad", icon: "alert", label: "Failed", explanation: "" },
  refused: {
    tone: "bad",
    icon: "ban",
    label: "Refused",
    explanation: "This agent isn’t allowed to make this call, so it was not run.",
  },
  cancelled: {
    tone: "quiet",
    icon: "stop",
    label: "Cancelled",
    explanation: "Stopped before it finished.",
  },
  interrupted: {
    tone: "doubt",
    icon: "stop",
    label: "Interrupted",
    explanation: "Interrupted before it finished. There is no result.",
  },
  unknown: {
    tone: "doubt",
    icon: "question",
    label: "Outcome unknown",
    explanation:
      "The server stopped during this call, so it is unknown whether it took effect. It was not repeated because running it twice could cause harm. The agent has been informed and decides how to continue.",
  },
  pending: {
    tone: "quiet",
    icon: "clock",
    label: "Awaiting decision",
    explanation:
      "The agent continued without a result. The result will arrive as a separate message.",
  },
  skipped: {
    tone: "quiet",
    icon: "skip",
    label: "Skipped",
    explanation: "An earlier call ended the turn, so this one was not run.",
  },
  erased: {
    tone: "quiet",
    icon: "eraser",
    label: "Removed",
    explanation: "A hook removed this call from the agent’s context after it ran.",
  },
};

interface Call {
  id: string;
  result: ToolRecord | undefined;
  live: LiveTool | undefined;
  wait: WaitView | undefined;
  /** The request to the owner that this call caused. */
  request?: RequestView | undefined;
  isAgentRunning: boolean;
  /** True for the first call without a result while the agent is running. */
  isNext?: boolean;
}

/** Calls whose subagent lacks variables: the call failed, and the subagent starts when they are set. */
const VARIABLE_STATES: Partial<Record<RequestView["status"], CallState>> = {
  pending: { tone: "doubt", icon: "question", label: "Waiting for you", explanation: "" },
  answered: {
    tone: "good",
    icon: "check",
    label: "Started later",
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
  const wanting = request?.kind === "variables" ? VARIABLE_STATES[request.status] : undefined;
  if (wanting) return wanting;
  if (result) return RESULT_STATES[result.status] ?? RESULT_STATES.unknown;
  const quiet: CallState = { tone: "quiet", icon: "tool", label: "", explanation: "" };
  if (wait?.reason === "child") return { ...quiet, tone: "busy", icon: "spin" };
  if (wait && needsUser(wait.reason)) {
    return { ...quiet, tone: "doubt", icon: "question", label: "Waiting for you" };
  }
  if (wait) return { ...quiet, tone: "doubt", icon: "clock", label: "Waiting" };
  if (!id) return { ...quiet, tone: "busy", icon: "pencil", label: "Preparing" };
  if (live || isNext) return { ...quiet, tone: "busy", icon: "spin", label: "Running" };
  return isAgentRunning
    ? { ...quiet, icon: "clock", label: "Queued" }
    : { ...quiet, label: "No result" };
}

type Arguments = Record<string, unknown>;

/** The arguments in one line; for `ask_user`, the question. */
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

/** Writes out control and format characters except line breaks and tabs. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    if (character === "\n" || character === "\t") return character;
    const code = character.codePointAt(0) ?? 0;
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** Indented JSON; other text is unchanged. */
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
