/** Lists, notes and views in the command menu, by name and by content. */

import type { Command } from "../state/commands";
import { panel } from "../state/sidePanel.svelte";
import { artifacts } from "./artifacts.svelte";
import type { Item, Note } from "./types";

export function artifactCommands(): Command[] {
  return [
    ...artifacts.lists.map(({ id, name }) => ({
      id: `list:${id}`,
      group: "Lists",
      label: name,
      icon: "list" as const,
      act: () => panel.open({ mode: "list", id }),
    })),
    ...artifacts.notes.map(({ id, title }) => ({
      id: `note:${id}`,
      group: "Notes",
      label: title,
      icon: "file" as const,
      act: () => panel.open({ mode: "note", id }),
    })),
    ...artifacts.views.map(({ id, name }) => ({
      id: `view:${id}`,
      group: "Views",
      label: name,
      icon: "search" as const,
      act: () => panel.open({ mode: "view", id }),
    })),
  ];
}

/** Items and notes whose content matches; notes that match by title are in `artifactCommands`. */
export async function searchArtifacts(query: string): Promise<Command[]> {
  const [{ items }, { notes }] = await Promise.all([
    artifacts.call<{ items: Item[] }>("lists", "items-search", { query, limit: 8 }),
    artifacts.call<{ notes: Note[] }>("notes", "search", { query, limit: 8 }),
  ]);
  const known = new Set(artifacts.notes.map(({ title }) => title));
  const matchesTitle = ({ title }: Note) =>
    known.has(title) && title.toLocaleLowerCase().includes(query.toLocaleLowerCase());
  return [
    ...items.map(({ id, title, list }) => ({
      id: `item:${id}`,
      group: "List items",
      label: title,
      detail: artifacts.lists.find((one) => one.id === list)?.name ?? "",
      icon: "list" as const,
      act: () => panel.open({ mode: "list", id: list }),
    })),
    ...notes
      .filter((note) => !matchesTitle(note))
      .map(({ id, title }) => ({
        id: `words:${id}`,
        group: "In notes",
        label: title,
        icon: "file" as const,
        act: () => panel.open({ mode: "note", id }),
      })),
  ];
}
