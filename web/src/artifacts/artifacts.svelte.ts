/** What this person keeps beside the conversations, read when it is looked at and followed live. */

import { ApiError, api } from "../api/client";
import type { ArtifactEvent } from "../api/shapes";
import { freshKey } from "../state/keep";
import { notices } from "../state/notices.svelte";
import { panel } from "../state/sidePanel.svelte";
import { firstOf, type Part } from "./paging";
import type { Area, Change, Item, ItemList, Note, Row, View } from "./shapes";

const MOST_NOTES = 2000;

type Arguments = Record<string, unknown>;

/** What somebody else did to something that is shown here. */
export interface News {
  by: string;
  change: string;
  area: Area;
}

class Artifacts {
  lists = $state.raw<readonly ItemList[]>([]);
  notes = $state.raw<readonly Note[]>([]);
  /** How many notes there are, of which the first are read. */
  notesTotal = $state(0);
  views = $state.raw<readonly View[]>([]);
  phase = $state<"loading" | "ready" | "error">("loading");
  problem = $state("");
  /** The last change of this window, which can be taken back. */
  lastOwn = $state.raw<{ area: Area; change: string; label: string } | null>(null);
  /** The last change of an agent, by the id of what it changed. */
  news = $state.raw<Readonly<Record<string, News>>>({});
  /** Grows with every change: whoever shows a part reads it again. */
  changes = $state(0);

  /** Keys of changes of which nobody knows whether they happened: tried again, they happen once. */
  private readonly unsure = new Map<string, string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    panel.listen((event) => this.heard(event));
    void this.read();
  }

  async read(): Promise<void> {
    try {
      const [lists, notes, views] = await Promise.all([
        this.all<ItemList>("lists", "list", "lists"),
        this.all<Note>("notes", "list", "notes"),
        this.all<View>("views", "list", "views"),
      ]);
      this.lists = lists.rows;
      this.notes = notes.rows;
      this.notesTotal = notes.total;
      this.views = views.rows;
      this.phase = "ready";
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      if (this.phase === "loading") this.phase = "error";
    }
    this.changes++;
  }

  private all<T>(
    area: Area,
    operation: string,
    name: string,
    more: Arguments = {},
    most = MOST_NOTES,
  ): Promise<Part<T>> {
    return firstOf<T>((page) => this.ask(area, operation, { ...more, ...page }), name, most);
  }

  ask<T>(area: Area, operation: string, given: Arguments): Promise<T> {
    return api.operate<T>(area, operation, given);
  }

  items(list: string, query: string, most: number): Promise<Part<Item>> {
    return this.all<Item>("lists", "items-list", "items", { list, query }, most);
  }

  found(query: string, most: number): Promise<Part<Row>> {
    return this.all<Row>("views", "query", "found", { query }, most);
  }

  async note(id: string): Promise<Note> {
    return (await this.ask<{ note: Note }>("notes", "read", { note: id })).note;
  }

  async history(area: Area, about: string): Promise<Change[]> {
    const name = { lists: "list", notes: "note", views: "view" }[area];
    const { changes } = await this.ask<{ changes: Change[] }>(area, "history", { [name]: about });
    return changes;
  }

  /** Change something; whether it happened. A complaint is told unless the caller takes it. */
  async change<T = unknown>(
    area: Area,
    operation: string,
    given: Arguments,
    label: string,
  ): Promise<T | null> {
    const same = JSON.stringify([area, operation, given]);
    const key = this.unsure.get(same) ?? freshKey();
    this.unsure.delete(same);
    try {
      const result = await api.operate<T & { change: string }>(area, operation, given, key);
      this.lastOwn = { area, change: result.change, label };
      await this.read();
      return result;
    } catch (error) {
      if (error instanceof ApiError && error.isUnreachable) this.unsure.set(same, key);
      notices.fail("Couldn’t save the change.", error);
      return null;
    }
  }

  async undo(area: Area, change: string): Promise<void> {
    this.lastOwn = null;
    const result = await this.change(area, "undo", { change }, "");
    if (result) this.lastOwn = null;
    this.forget(change);
  }

  /** What an agent did has been seen. */
  forget(change: string): void {
    const rest = Object.entries(this.news).filter(([, news]) => news.change !== change);
    this.news = Object.fromEntries(rest);
  }

  private heard(event: ArtifactEvent | null): void {
    if (event?.by) {
      const area: Area =
        event.kind === "note" ? "notes" : event.kind === "view" ? "views" : "lists";
      const news = { by: event.by, change: event.change, area };
      this.news = { ...this.news, [event.id]: news };
    }
    this.readSoon();
  }

  /** Several changes at once are read once. */
  private readSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.read(), 60);
  }
}

export const artifacts = new Artifacts();
