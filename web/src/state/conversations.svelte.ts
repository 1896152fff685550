/** The conversations loaded in this window, updated by the event stream. */

import { ApiError, api } from "../api/client";
import type { CommittedEvent, KnownRecord, LiveEvent } from "../api/types";
import {
  applyEvent,
  type Conversation,
  emptyConversation,
  onlyLive,
  withHistory,
  withOpenItems,
  withoutLive,
} from "./conversation";
import { clearedBefore, committedPage, results, withLiveStep } from "./transcript";

/** The first page fills the window; older pages are larger. */
const PAGE = 80;
const OLDER_PAGE = 400;
const MAX_OPEN = 8;
const NEWEST = Number.MAX_SAFE_INTEGER;

function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

export class OpenConversation {
  data = $state.raw<Conversation>(emptyConversation(""));
  phase = $state<"loading" | "ready" | "missing" | "error">("loading");
  problem = $state("");
  showsCleared = $state(false);
  /** The last finished answer, for screen readers. */
  announcement = $state("");

  // These stay identical during streaming, so what is derived from them is not recomputed.
  private readonly records = $derived(this.data.records);
  private readonly items = $derived(this.data.items);
  private readonly stepOf = $derived(this.data.stepOf);
  private readonly hasOlder = $derived(this.data.hasOlder);
  private readonly committed = $derived(
    committedPage(
      {
        records: this.records,
        items: this.items,
        stepOf: this.stepOf,
        hasOlder: this.hasOlder,
      },
      this.showsCleared,
    ),
  );
  readonly live = $derived(this.data.live);
  readonly tools = $derived(this.data.tools);
  readonly blocks = $derived(withLiveStep(this.committed, this.live));
  readonly results = $derived(results(this.records));
  readonly clearedAt = $derived(clearedBefore(this.records));
  readonly canLoadOlder = $derived(this.hasOlder && (this.showsCleared || !this.clearedAt));

  private older: Promise<void> | null = null;

  constructor(
    readonly agentId: string,
    unopened: Conversation | undefined,
  ) {
    this.data = unopened ?? emptyConversation(agentId);
  }

  async load(): Promise<void> {
    this.phase = "loading";
    try {
      const [page, open] = await Promise.all([
        api.history(this.agentId, { before: NEWEST, limit: PAGE }),
        api.openItems(this.agentId),
      ]);
      this.data = withOpenItems(withHistory(this.data, page.records, page.hasMore), open.items);
      this.phase = "ready";
    } catch (error) {
      this.phase = isMissing(error) ? "missing" : "error";
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  /** Loads one older page; concurrent callers share it. */
  loadOlder(): Promise<void> {
    this.older ??= this.readOlder().finally(() => {
      this.older = null;
    });
    return this.older;
  }

  private async readOlder(): Promise<void> {
    const first = this.data.records[0];
    if (!this.canLoadOlder || !first) return;
    const page = await api.history(this.agentId, { before: first.seq, limit: OLDER_PAGE });
    this.data = withHistory(this.data, page.records, page.hasMore);
  }

  /** Loads the whole conversation, for search. */
  async loadAll(): Promise<void> {
    while (this.canLoadOlder && this.records.length) await this.loadOlder();
  }

  /** Loads what the stream could not replay after a disconnect. */
  async catchUp(): Promise<void> {
    if (this.phase !== "ready") return this.load();
    try {
      await this.readMissed();
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.phase = "missing";
    }
  }

  private async readMissed(): Promise<void> {
    let after = this.data.records.at(-1)?.seq ?? 0;
    const missed: KnownRecord[] = [];
    for (;;) {
      const page = await api.history(this.agentId, { after, limit: 200 });
      missed.push(...page.records);
      after = page.records.at(-1)?.seq ?? after;
      if (!page.hasMore || page.records.length === 0) break;
    }
    const { items } = await api.openItems(this.agentId);
    const fresh = { ...withoutLive(this.data), items: new Map() };
    this.data = withOpenItems(withHistory(fresh, missed), items);
  }

  apply(event: CommittedEvent | LiveEvent): void {
    const before = this.data.records;
    this.data = applyEvent(this.data, event, Date.now());
    if (this.data.records === before) return;
    if (event.type === "record" && event.record.kind === "assistant") {
      const text = event.record.parts.map((part) => (part.type === "text" ? part.text : ""));
      if (text.join("").trim()) this.announcement = text.join("").slice(0, 1000);
    }
  }

  dropLive(): void {
    this.data = withoutLive(this.data);
  }
}

interface OpenEntry {
  conversation: OpenConversation;
  release: () => void;
  /** The number of components that show it. */
  holders: number;
}

/** Created by a view but outliving it, so its derived state needs its own root. */
function keep(agentId: string, unopened: Conversation | undefined): OpenEntry {
  let conversation: OpenConversation | undefined;
  const release = $effect.root(() => {
    conversation = new OpenConversation(agentId, unopened);
  });
  return { conversation: conversation as OpenConversation, release, holders: 0 };
}

export class Conversations {
  private readonly open = new Map<string, OpenEntry>();
  /** Live state of conversations that are not open, so that opening one shows it from the start. */
  private readonly unopened = new Map<string, Conversation>();

  /** Returns the conversation, loading it if needed; evicts the least recently used. */
  get(agentId: string): OpenConversation {
    const known = this.open.get(agentId);
    const kept = known ?? keep(agentId, this.unopened.get(agentId));
    this.unopened.delete(agentId);
    this.open.delete(agentId);
    this.open.set(agentId, kept);
    if (!known || kept.conversation.phase === "error") void kept.conversation.load();
    const idle = [...this.open].filter(([, { holders }]) => holders === 0);
    for (const [id] of idle.slice(0, -MAX_OPEN)) if (id !== agentId) this.forget(id);
    return kept.conversation;
  }

  /** Keeps it loaded while shown; returns the release function. */
  hold(agentId: string): () => void {
    const kept = this.open.get(agentId);
    if (!kept) return () => undefined;
    kept.holders++;
    return () => {
      kept.holders--;
    };
  }

  apply(event: (CommittedEvent | LiveEvent) & { agentId: string }): void {
    const { agentId } = event;
    const known = this.open.get(agentId)?.conversation;
    if (known) {
      known.apply(event);
      return;
    }
    const before = this.unopened.get(agentId) ?? emptyConversation(agentId);
    const live = onlyLive(applyEvent(before, event, Date.now()));
    if (live) this.unopened.set(agentId, live);
    else this.unopened.delete(agentId);
  }

  forget(agentId: string): void {
    this.open.get(agentId)?.release();
    this.open.delete(agentId);
    this.unopened.delete(agentId);
  }

  dropLive(): void {
    this.unopened.clear();
    for (const { conversation } of this.open.values()) conversation.dropLive();
  }

  /** After a resync, reloads only the visible conversations. */
  async catchUp(): Promise<void> {
    const shown = [...this.open].filter(([, { holders }]) => holders > 0);
    for (const [id, { holders }] of [...this.open]) if (holders === 0) this.forget(id);
    await Promise.all(shown.map(([, { conversation }]) => conversation.catchUp()));
  }
}
