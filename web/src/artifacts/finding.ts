/** Lists, notes and views by their names, and what has certain words, for the palette. */

import type { Command } from "../state/commands";
import { panel } from "../state/sidePanel.svelte";
import { artifacts } from "./artifacts.svelte";
import type { Item, Note } from "./shapes";

export function places(): Command[] {
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

/** Items and notes that have these words somewhere; those called so are among the places. */
export async function wordsIn(query: string): Promise<Command[]> {
  const [{ items }, { notes }] = await Promise.all([
    artifacts.ask<{ items: Item[] }>("lists", "items-search", { query, limit: 8 }),
    artifacts.ask<{ notes: Note[] }>("notes", "search", { query, limit: 8 }),
  ]);
  const known = new Set(artifacts.notes.map(({ title }) => title));
  const isCalledSo = ({ title }: Note) =>
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
      .filter((note) => !isCalledSo(note))
      .map(({ id, title }) => ({
        id: `words:${id}`,
        group: "In notes",
        label: title,
        icon: "file" as const,
        act: () => panel.open({ mode: "note", id }),
      })),
  ];
}
