/** Everything that can be reached by its name: conversations, agents, pages and what can be done. */

import type { AgentView } from "../api/shapes";
import { agentMenu } from "../components/agentMenu";
import type { IconName } from "../components/Icon.svelte";
import { PAGE_ICONS } from "../views/pages";
import { agentTitle, definitionTitle, isUntouched, statusWord } from "./agents";
import { app } from "./app.svelte";
import { type Here, overlay } from "./overlay.svelte";
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
  /** Said beside it, in fewer words. */
  detail?: string;
  icon?: IconName;
  /** The definition whose mark it bears instead of an icon. */
  definition?: string;
  keys?: string;
  act: () => void;
}

export function commands(): Command[] {
  const id = router.agentId ?? aboutWhom();
  const agent = id ? app.agents.get(id) : undefined;
  return [
    ...(agent && overlay.here ? actions(agent, overlay.here) : []),
    ...(agent && !overlay.here ? around(agent) : []),
    ...conversations(agent?.id),
    ...beginnings(),
    ...pages(),
    ...views(),
    ...contexts(agent?.id),
  ];
}

/** The agent that the open page is about. */
function aboutWhom(): string | null {
  return router.contextOf ?? router.filesOf?.agentId ?? router.variablesOf;
}

/** The other pages about the agent whose context, files or variables are open. */
function around(agent: AgentView): Command[] {
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

function actions(agent: AgentView, here: Here): Command[] {
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

function conversations(current: string | undefined): Command[] {
  return [...app.agents.values()]
    .filter((agent) => agent.id !== current && !isUntouched(agent))
    .sort((one, other) => other.updatedAt.localeCompare(one.updatedAt))
    .map((agent) => ({
      id: `c:${agent.id}`,
      group: "Conversations",
      label: agentTitle(agent, app.definitions),
      detail: [
        statusWord(agent, app.agents, app.definitions),
        definitionTitle(agent.definition, app.definitions),
      ]
        .filter(Boolean)
        .join(" · "),
      definition: agent.definition,
      act: () => router.go(agentHref(agent.id)),
    }));
}

/** Offered to those who ask for it: one for each conversation would bury everything else. */
export const CONTEXTS = "Model context";

export function asksForContext(query: string): boolean {
  const words = query.toLocaleLowerCase().split(/\s+/);
  return words.some((word) => word.length > 2 && "context".startsWith(word));
}

function contexts(current: string | undefined): Command[] {
  return [...app.agents.values()]
    .filter((agent) => agent.id !== current && !isUntouched(agent))
    .map((agent) => ({
      id: `x:${agent.id}`,
      group: CONTEXTS,
      label: `Context of “${agentTitle(agent, app.definitions)}”`,
      icon: "fold" as const,
      act: () => router.go(contextHref(agent.id)),
    }));
}

function beginnings(): Command[] {
  return app.visibleDefinitions.flatMap(({ name, displayName }) => [
    {
      id: `n:${name}`,
      group: "New conversation",
      label: `New conversation with ${displayName}`,
      definition: name,
      act: () => void app.begin(name),
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

function pages(): Command[] {
  return (Object.keys(PAGE_ICONS) as PlainPage[]).map((page) => ({
    id: `p:${page}`,
    group: "Pages",
    label: PAGES[page],
    icon: PAGE_ICONS[page],
    act: () => router.go(pageHref(page)),
  }));
}

function views(): Command[] {
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

/** Those that have every word of the query, best first: words that begin the name count most. */
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
