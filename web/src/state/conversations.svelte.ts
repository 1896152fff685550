/** The conversations that this window has loaded, kept current by the stream. */

import { ApiError, api } from "../api/client";
import type { CommittedEvent, KnownRecord, LiveEvent } from "../api/shapes";
import {
  applyEvent,
  type Conversation,
  emptyConversation,
  onlyLive,
  withHistory,
  withOpenItems,
  withoutLive,
} from "./conversation";
import { clearedBefore, results, said, withSpeech } from "./transcript";

/** The first page is what a window shows at once; the older ones come in larger pieces. */
const PAGE = 80;
const OLDER_PAGE = 400;
const KEPT = 8;
const NEWEST = Number.MAX_SAFE_INTEGER;

function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

export class OpenConversation {
  data = $state.raw<Conversation>(emptyConversation(""));
  phase = $state<"loading" | "ready" | "missing" | "error">("loading");
  problem = $state("");
  showsCleared = $state(false);
  /** The last finished answer, for people who listen to the page. */
  announcement = $state("");

  // Each of these stays the same value while a model speaks, and so does what is made of them.
  private readonly records = $derived(this.data.records);
  private readonly items = $derived(this.data.items);
  private readonly stepOf = $derived(this.data.stepOf);
  private readonly hasOlder = $derived(this.data.hasOlder);
  private readonly said = $derived(
    said(
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
  readonly blocks = $derived(withSpeech(this.said, this.live));
  readonly results = $derived(results(this.records));
  readonly clearedAt = $derived(clearedBefore(this.records));
  readonly canLoadOlder = $derived(this.hasOlder && (this.showsCleared || !this.clearedAt));

  private older: Promise<void> | null = null;

  constructor(
    readonly agentId: string,
    overheard: Conversation | undefined,
  ) {
    this.data = overheard ?? emptyConversation(agentId);
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

  /** One page more of what was said before; whoever asks meanwhile waits for the same page. */
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

  /** Everything that is shown here, from its beginning: for a search, and for a copy. */
  async loadAll(): Promise<void> {
    while (this.canLoadOlder && this.records.length) await this.loadOlder();
  }

  /** Read what came after a break that the stream could not replay. */
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

interface Kept {
  conversation: OpenConversation;
  release: () => void;
  /** How many places of the page show it. */
  holders: number;
}

/** Made by a view, but living longer than it: what it derives must not end with the view. */
function keep(agentId: string, overheard: Conversation | undefined): Kept {
  let conversation: OpenConversation | undefined;
  const release = $effect.root(() => {
    conversation = new OpenConversation(agentId, overheard);
  });
  return { conversation: conversation as OpenConversation, release, holders: 0 };
}

export class Conversations {
  private readonly open = new Map<string, Kept>();
  /** What streams in conversations that are not open: whoever opens one sees it from its beginning. */
  private readonly overheard = new Map<string, Conversation>();

  /** The conversation, loading it when it is not here; the ones not looked at for longest go. */
  get(agentId: string): OpenConversation {
    const known = this.open.get(agentId);
    const kept = known ?? keep(agentId, this.overheard.get(agentId));
    this.overheard.delete(agentId);
    this.open.delete(agentId);
    this.open.set(agentId, kept);
    if (!known || kept.conversation.phase === "error") void kept.conversation.load();
    const idle = [...this.open].filter(([, { holders }]) => holders === 0);
    for (const [id] of idle.slice(0, -KEPT)) if (id !== agentId) this.forget(id);
    return kept.conversation;
  }

  /** Keep it here while it is on the page; gives the undo. */
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
    const before = this.overheard.get(agentId) ?? emptyConversation(agentId);
    const live = onlyLive(applyEvent(before, event, Date.now()));
    if (live) this.overheard.set(agentId, live);
    else this.overheard.delete(agentId);
  }

  forget(agentId: string): void {
    this.open.get(agentId)?.release();
    this.open.delete(agentId);
    this.overheard.delete(agentId);
  }

  dropLive(): void {
    this.overheard.clear();
    for (const { conversation } of this.open.values()) conversation.dropLive();
  }

  /** After a resync only what is on the page is worth reading again at once. */
  async catchUp(): Promise<void> {
    const shown = [...this.open].filter(([, { holders }]) => holders > 0);
    for (const [id, { holders }] of [...this.open]) if (holders === 0) this.forget(id);
    await Promise.all(shown.map(([, { conversation }]) => conversation.catchUp()));
  }
}
