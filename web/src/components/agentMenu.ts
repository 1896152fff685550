/** The actions of a conversation, for all menus. */

import type { AgentView } from "../api/types";
import { agentTitle } from "../state/agents";
import { app } from "../state/app.svelte";
import { confirmation } from "../state/confirm.svelte";
import { plural } from "../state/format";
import {
  contextHref,
  definitionHref,
  filesHref,
  router,
  variablesHref,
} from "../state/route.svelte";
import type { MenuItem } from "./Menu.svelte";

const MAX_NAMES = 6;

export function agentMenu(agent: AgentView, rename: () => void): MenuItem[] {
  const isPinned = Boolean(agent.pinnedAt);
  const isEnded = agent.status === "terminated";
  const liveActions: MenuItem[] = [
    { label: "Clear", icon: "eraser", act: () => void clear(agent) },
    { label: "End", icon: "stop", act: () => void end(agent) },
  ];
  return [
    { label: "Rename", icon: "pencil", act: rename },
    {
      label: "Agent details",
      icon: "tree",
      act: () => router.go(definitionHref(agent.definition)),
    },
    { label: "Context", icon: "fold", act: () => router.go(contextHref(agent.id)) },
    { label: "Files", icon: "folder", act: () => router.go(filesHref(agent.id)) },
    { label: "Variables", icon: "key", act: () => router.go(variablesHref(agent.id)) },
    {
      label: isPinned ? "Unpin" : "Pin",
      icon: "pin",
      act: () => void app.pin(agent.id, !isPinned),
    },
    ...(isEnded ? [] : liveActions),
    { label: "Delete", icon: "trash", isDanger: true, act: () => void remove(agent) },
  ];
}

async function clear(agent: AgentView): Promise<void> {
  const isAgreed = await confirmation.ask({
    title: `Clear “${agentTitle(agent, app.definitions)}”?`,
    text: "The agent stops what it is doing and forgets the conversation so far. Earlier messages stay in the history, where you can still read them.",
    action: "Clear",
  });
  if (isAgreed) await app.clear(agent.id);
}

/** Ends an agent after listing the subagents that end with it. */
export async function end(agent: AgentView): Promise<void> {
  const children = await app.childrenOf(agent.id);
  const names = children
    .slice(0, MAX_NAMES)
    .map((child) => `“${agentTitle(child, app.definitions)}”`);
  if (children.length > MAX_NAMES) names.push(plural(children.length - MAX_NAMES, "other"));
  const isAgreed = await confirmation.ask({
    title: `End “${agentTitle(agent, app.definitions)}”?`,
    text: [
      "The agent stops what it is doing and no longer accepts messages. You can still read the conversation.",
      names.length ? `These agents will end too: ${names.join(", ")}.` : "",
    ].join(" "),
    action: "End",
  });
  if (isAgreed) await app.terminate(agent.id);
}

async function remove(agent: AgentView): Promise<void> {
  const isAgreed = await confirmation.ask({
    title: `Delete “${agentTitle(agent, app.definitions)}”?`,
    text: "This deletes the conversation with its history and files. It can’t be undone.",
    action: "Delete",
  });
  if (isAgreed) await app.remove(agent.id);
}
