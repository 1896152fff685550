/** The user's lists, notes and views, loaded on first use and kept current by events. */

import { ApiError, api } from "../api/client";
import type { ArtifactEvent } from "../api/types";
import { notices } from "../state/notices.svelte";
import { panel } from "../state/sidePanel.svelte";
import { newKey } from "../state/storage";
import { firstOf, type Part } from "./pagination";
import type { Area, Change, Item, ItemList, Note, Row, View } from "./types";

const MAX_NOTES = 2000;

type Arguments = Record<string, unknown>;

/** A change that an agent made. */
export interface AgentChange {
  by: string;
  change: string;
  area: Area;
}

class Artifacts {
  lists = $state.raw<readonly ItemList[]>([]);
  notes = $state.raw<readonly Note[]>([]);
  /** The number of notes on the server; only the first are loaded. */
  notesTotal = $state(0);
  views = $state.raw<readonly View[]>([]);
  phase = $state<"loading" | "ready" | "error">("loading");
  problem = $state("");
  /** The last change made in this window, which can be undone. */
  lastChange = $state.raw<{ area: Area; change: string; label: string } | null>(null);
  /** The last change by an agent, by artifact ID. */
  agentChanges = $state.raw<Readonly<Record<string, AgentChange>>>({});
  /** Increases with every change, so that views reload. */
  changes = $state(0);

  /** Keys of changes whose outcome is unknown; a retry reuses the key and takes effect once. */
  private readonly uncertain = new Map<string, string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    panel.subscribe((event) => this.receive(event));
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
    most = MAX_NOTES,
  ): Promise<Part<T>> {
    return firstOf<T>((page) => this.call(area, operation, { ...more, ...page }), name, most);
  }

  call<T>(area: Area, operation: string, given: Arguments): Promise<T> {
    return api.operate<T>(area, operation, given);
  }

  items(list: string, query: string, most: number): Promise<Part<Item>> {
    return this.all<Item>("lists", "items-list", "items", { list, query }, most);
  }

  query(query: string, most: number): Promise<Part<Row>> {
    return this.all<Row>("views", "query", "found", { query }, most);
  }

  async note(id: string): Promise<Note> {
    return (await this.call<{ note: Note }>("notes", "read", { note: id })).note;
  }

  async history(area: Area, about: string): Promise<Change[]> {
    const name = { lists: "list", notes: "note", views: "view" }[area];
    const { changes } = await this.call<{ changes: Change[] }>(area, "history", { [name]: about });
    return changes;
  }

  /** Makes a change; returns null and shows a notice if it fails. */
  async change<T = unknown>(
    area: Area,
    operation: string,
    given: Arguments,
    label: string,
  ): Promise<T | null> {
    const same = JSON.stringify([area, operation, given]);
    const key = this.uncertain.get(same) ?? newKey();
    this.uncertain.delete(same);
    try {
      const result = await api.operate<T & { change: string }>(area, operation, given, key);
      this.lastChange = { area, change: result.change, label };
      await this.read();
      return result;
    } catch (error) {
      if (error instanceof ApiError && error.isUnreachable) this.uncertain.set(same, key);
      notices.fail("Couldn’t save the change.", error);
      return null;
    }
  }

  async undo(area: Area, change: string): Promise<void> {
    this.lastChange = null;
    const result = await this.change(area, "undo", { change }, "");
    if (result) this.lastChange = null;
    this.dismiss(change);
  }

  /** Removes the mark of an agent's change. */
  dismiss(change: string): void {
    const rest = Object.entries(this.agentChanges).filter(
      ([, agentChange]) => agentChange.change !== change,
    );
    this.agentChanges = Object.fromEntries(rest);
  }

  private receive(event: ArtifactEvent | null): void {
    if (event?.by) {
      const area: Area =
        event.kind === "note" ? "notes" : event.kind === "view" ? "views" : "lists";
      const agentChange = { by: event.by, change: event.change, area };
      this.agentChanges = { ...this.agentChanges, [event.id]: agentChange };
    }
    this.readSoon();
  }

  /** Reloads once for several changes in quick succession. */
  private readSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.read(), 60);
  }
}

export const artifacts = new Artifacts();
