/** Labels and token shares for the context page. */

import type { ContextMessage, ContextView } from "../../api/types";

export interface Share {
  name: string;
  label: string;
  tokens: number;
  /** In per cent of all parts. */
  share: number;
}

const SECTIONS: Record<string, string> = {
  base: "Base prompt",
  tools: "Available tools",
  skills: "Available CLI skills",
  items: "Artifact items",
  messageContext: "Message context",
  panels: "Open panels",
  agents: "Available agents",
  own: "Agent instructions",
  permanentAgents: "Permanent agents",
  children: "Subagents",
  hooked: "Changed by hooks",
};

const ROLES: Record<ContextMessage["role"], string> = {
  user: "User",
  assistant: "Assistant",
  tool: "Tool result",
};

export function sectionTitle(name: string): string {
  return SECTIONS[name] ?? name;
}

export function shares({ tokens }: ContextView): Share[] {
  const parts = [
    { name: "system", label: "System prompt", tokens: tokens.system },
    { name: "tools", label: "Tools", tokens: tokens.tools },
    { name: "messages", label: "Conversation", tokens: tokens.messages },
    { name: "closing", label: "After the messages", tokens: tokens.closing },
  ];
  const whole = parts.reduce((sum, part) => sum + part.tokens, 0) || 1;
  return parts.map((part) => ({ ...part, share: (100 * part.tokens) / whole }));
}

export function messageTitle(message: ContextMessage): string {
  const named = message.parts.find((part) => part.name)?.name;
  return message.role === "tool" && named ? `Result of ${named}` : ROLES[message.role];
}

export function messageText(message: ContextMessage): string {
  return message.parts
    .map((part) => {
      if (part.type === "call") return `→ ${part.name} ${part.text}`;
      return part.type === "thinking" ? `(thinking) ${part.text}` : part.text;
    })
    .join("\n\n");
}

export const PRESSURE: Record<ContextView["pressure"], string> = {
  low: "Within the limit",
  warning: "Will be summarised after this turn",
  critical: "Will be summarised before the next call",
  full: "Over the limit: the oldest messages are dropped",
};

export const REASONS: Record<string, string> = {
  warning: "after a turn, at 75%",
  critical: "before a call, at 90%",
  emergency: "at the limit",
  overflow: "after the provider rejected it as too long",
  command: "on request",
};
