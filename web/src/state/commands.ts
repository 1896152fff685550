/** The entries of the command menu: conversations, agents, pages and actions. */

import type { AgentView } from "../api/types";
import { agentMenu } from "../components/agentMenu";
import type { IconName } from "../components/Icon.svelte";
import { PAGE_ICONS } from "../views/pageIcons";
import { agentTitle, definitionTitle, isUntouched, statusLabel } from "./agents";
import { app } from "./app.svelte";
import { type ConversationActions, overlay } from "./overlay.svelte";
import {
  agentHref,
  contextHref,
  definitionHref,
  filesHref,
  PAGES,
  type PlainPage,
  pageHref,
  router,
  variablesHref,
} from "./route.svelte";
import { panel } from "./sidePanel.svelte";
import { THEMES, theme } from "./theme.svelte";

export interface Command {
  id: string;
  group: string;
  label: string;
  /** Secondary text. */
  detail?: string;
  icon?: IconName;
  /** Shows this definition's avatar instead of an icon. */
  definition?: string;
  keys?: string;
  act: () => void;
}

export function commands(): Command[] {
  const id = router.agentId ?? pageAgentId();
  const agent = id ? app.agents.get(id) : undefined;
  return [
    ...(agent && overlay.conversation ? conversationActions(agent, overlay.conversation) : []),
    ...(agent && !overlay.conversation ? agentPageCommands(agent) : []),
    ...conversationCommands(agent?.id),
    ...definitionCommands(),
    ...pageCommands(),
    ...viewCommands(),
    ...contextCommands(agent?.id),
  ];
}

/** The agent of the open page. */
function pageAgentId(): string | null {
  return router.contextOf ?? router.filesOf?.agentId ?? router.variablesOf;
}

/** The other pages of the agent whose context, files or variables are open. */
function agentPageCommands(agent: AgentView): Command[] {
  const group = `“${agentTitle(agent, app.definitions)}”`;
  const PLACES = [
    ["Open conversation", "arrowRight", agentHref],
    ["Context", "fold", contextHref],
    ["Files", "folder", filesHref],
    ["Variables", "key", variablesHref],
  ] as const;
  return PLACES.map(([label, icon, href]) => ({
    id: `a:${label}`,
    group,
    label,
    icon,
    act: () => router.go(href(agent.id)),
  }));
}

function conversationActions(agent: AgentView, here: ConversationActions): Command[] {
  const group = `“${agentTitle(agent, app.definitions)}”`;
  const isWorking = agent.status === "running" || agent.status === "waiting";
  const found: Command[] = [];
  if (isWorking) {
    found.push({
      id: "stop",
      group,
      label: "Stop",
      icon: "stop",
      keys: "Esc",
      act: () => void app.stop(agent.id),
    });
  }
  found.push({ id: "find", group, label: "Find in conversation", icon: "search", act: here.find });
  for (const { label, icon, act } of agentMenu(agent, here.rename)) {
    found.push({ id: `menu:${label}`, group, label, icon, act });
  }
  return found;
}

function conversationCommands(current: string | undefined): Command[] {
  return [...app.agents.values()]
    .filter((agent) => agent.id !== current && !isUntouched(agent))
    .sort((one, other) => other.updatedAt.localeCompare(one.updatedAt))
    .map((agent) => ({
      id: `c:${agent.id}`,
      group: "Conversations",
      label: agentTitle(agent, app.definitions),
      detail: [
        statusLabel(agent, app.agents, app.definitions),
        definitionTitle(agent.definition, app.definitions),
      ]
        .filter(Boolean)
        .join(" · "),
      definition: agent.definition,
      act: () => router.go(agentHref(agent.id)),
    }));
}

/** Shown only when the query mentions it, because there is one per conversation. */
export const CONTEXT_GROUP = "Model context";

export function mentionsContext(query: string): boolean {
  const words = query.toLocaleLowerCase().split(/\s+/);
  return words.some((word) => word.length > 2 && "context".startsWith(word));
}

function contextCommands(current: string | undefined): Command[] {
  return [...app.agents.values()]
    .filter((agent) => agent.id !== current && !isUntouched(agent))
    .map((agent) => ({
      id: `x:${agent.id}`,
      group: CONTEXT_GROUP,
      label: `Context of “${agentTitle(agent, app.definitions)}”`,
      icon: "fold" as const,
      act: () => router.go(contextHref(agent.id)),
    }));
}

function definitionCommands(): Command[] {
  return app.visibleDefinitions.flatMap(({ name, displayName }) => [
    {
      id: `n:${name}`,
      group: "New conversation",
      label: `New conversation with ${displayName}`,
      definition: name,
      act: () => void app.startConversation(name),
    },
    {
      id: `d:${name}`,
      group: "Agents",
      label: `Agent details: ${displayName}`,
      definition: name,
      act: () => router.go(definitionHref(name)),
    },
  ]);
}

function pageCommands(): Command[] {
  return (Object.keys(PAGE_ICONS) as PlainPage[]).map((page) => ({
    id: `p:${page}`,
    group: "Pages",
    label: PAGES[page],
    icon: PAGE_ICONS[page],
    act: () => router.go(pageHref(page)),
  }));
}

function viewCommands(): Command[] {
  return [
    ...THEMES.map(({ name, label, icon }) => ({
      id: `t:${name}`,
      group: "Theme",
      label: `Theme: ${label.toLowerCase()}`,
      detail: theme.current === name ? "current" : "",
      icon,
      act: () => theme.choose(name),
    })),
    {
      id: "panel",
      group: "Lists and notes",
      label: panel.isOpen ? "Close lists and notes" : "Lists and notes",
      icon: "list" as const,
      keys: "L",
      act: () => panel.toggle(),
    },
    {
      id: "shortcuts",
      group: "Help",
      label: "Keyboard shortcuts",
      icon: "question" as const,
      keys: "?",
      act: () => overlay.open("shortcuts"),
    },
  ];
}

/** Commands that contain every word of the query, best first; prefix matches rank highest. */
export function matching(all: readonly Command[], query: string): Command[] {
  const words = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [...all];
  const scored = all.flatMap((command, at) => {
    const label = command.label.toLocaleLowerCase();
    const text = `${label} ${command.detail ?? ""} ${command.group}`.toLocaleLowerCase();
    if (!words.every((word) => text.includes(word))) return [];
    const first = words[0] ?? "";
    const score = label.startsWith(first) ? 0 : ` ${label}`.includes(` ${first}`) ? 1 : 2;
    return [{ command, score, at }];
  });
  scored.sort((one, other) => one.score - other.score || one.at - other.at);
  return scored.map(({ command }) => command);
}
