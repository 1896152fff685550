/** What can be done with a conversation, wherever its menu opens. */

import type { AgentView } from "../api/shapes";
import { agentTitle } from "../state/agents";
import { app } from "../state/app.svelte";
import { confirmation } from "../state/confirm.svelte";
import type { MenuItem } from "./Menu.svelte";

export function agentMenu(agent: AgentView, rename: () => void): MenuItem[] {
  const isPinned = Boolean(agent.pinnedAt);
  return [
    { label: "Rename", icon: "pencil", act: rename },
    {
      label: isPinned ? "Unpin" : "Pin",
      icon: "pin",
      act: () => void app.pin(agent.id, !isPinned),
    },
    { label: "Clear", icon: "eraser", act: () => void clear(agent) },
    { label: "Delete", icon: "trash", isDanger: true, act: () => void remove(agent) },
  ];
}

async function clear(agent: AgentView): Promise<void> {
  const isAgreed = await confirmation.ask({
    title: `Clear “${agentTitle(agent)}”?`,
    text: "The agent forgets what was said and stops what it is doing. What was said stays in its history, where you can still look it up.",
    action: "Clear",
  });
  if (isAgreed) await app.clear(agent.id);
}

async function remove(agent: AgentView): Promise<void> {
  const isAgreed = await confirmation.ask({
    title: `Delete “${agentTitle(agent)}”?`,
    text: "The conversation goes away with its history and files. This cannot be taken back.",
    action: "Delete",
  });
  if (isAgreed) await app.remove(agent.id);
}
