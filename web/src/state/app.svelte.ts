/** The whole of what the app knows, fed by the event stream and read by every view. */

import { ApiError, api, onSignedOut } from "../api/client";
import type {
  AgentView,
  DefinitionEntry,
  NoteRecord,
  ProblemEntry,
  ShowEvent,
  StreamEvent,
} from "../api/shapes";
import { type Connection, EventStream } from "../api/stream";
import {
  BACKGROUND_KINDS,
  backgroundGroups,
  grouped,
  huesOf,
  isConversation,
  isUntouched,
  matches,
} from "./agents";
import { Conversations } from "./conversations.svelte";
import type { Draft } from "./drafts";
import { forgetDraft } from "./drafts";
import { branches, living, members } from "./family";
import { freshKey } from "./keep";
import { notices } from "./notices.svelte";
import { Panels } from "./panels";
import { Requests } from "./requests.svelte";
import { agentHref, router, takeSignInCode } from "./route.svelte";
import { Schedules } from "./schedules.svelte";
import { seen } from "./seen.svelte";
import { type Place, panel } from "./sidePanel.svelte";
import { Switches } from "./switches.svelte";

type Phase = "starting" | "ready" | "signed-out";

const LIST_PAGE = 100;
const KIND_PAGE = 30;
/** Half of what the server gives a window that has no socket. */
const LEASE_MS = 30_000;
const SEND_RETRIES_MS = [400, 1200];

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

class App {
  phase = $state<Phase>("starting");
  signInProblem = $state("");
  version = $state("");
  connection = $state<Connection>("connecting");
  retryAt = $state<number | null>(null);
  /** False from the moment the stream breaks until it speaks again. */
  isLive = $state(false);

  agents = $state.raw<ReadonlyMap<string, AgentView>>(new Map());
  nextCursor = $state.raw<string | null>(null);
  /** Where the list of each kind goes on, for the kinds that were asked for. */
  backgroundCursors = $state.raw<Readonly<Record<string, string | null>>>({});
  definitions = $state.raw<ReadonlyMap<string, DefinitionEntry>>(new Map());
  problems = $state.raw<readonly ProblemEntry[]>([]);
  query = $state("");

  readonly conversations = new Conversations();
  readonly requests = new Requests();
  readonly schedules = new Schedules();
  readonly panels = new Panels(freshKey(), () => this.tellPanels());
  readonly switches = new Switches();
  readonly visibleDefinitions = $derived(
    [...this.definitions.values()]
      .filter((definition) => definition.uiVisible && definition.isPublic)
      .sort((one, other) => Number(other.isDefault) - Number(one.isDefault)),
  );
  readonly hues = $derived(
    huesOf(new Set([...this.definitions.keys(), ...this.usedDefinitions()])),
  );
  readonly groups = $derived(grouped(this.matching(), this.definitions));
  readonly background = $derived(backgroundGroups(this.matching()));
  readonly unreadCount = $derived(
    [...this.agents.values()].filter((agent) => isConversation(agent) && this.isUnread(agent))
      .length,
  );

  private readonly stream = new EventStream({
    events: (batch) => this.receive(batch),
    connection: (state, retryAt) => this.connected(state, retryAt),
    probe: () => this.probe(),
  });
  /** Events that arrived while a snapshot was being read; null when none is. */
  private waiting: StreamEvent[] | null = null;
  private searches = 0;
  private lease: ReturnType<typeof setTimeout> | undefined;

  // ------------------------------------------------------------ signing in and connecting

  async start(): Promise<void> {
    onSignedOut(() => this.signedOut());
    window.addEventListener("hashchange", () => void this.signInByLink());
    window.addEventListener("focus", () => this.tellPanels()); // the window that is used last
    await this.signInByLink();
    if (this.phase !== "ready") this.stream.start();
  }

  private async signInByLink(): Promise<void> {
    const code = takeSignInCode();
    if (code) await this.signIn({ code });
  }

  async signIn(proof: { code: string } | { token: string }): Promise<void> {
    try {
      await api.signIn(proof);
      this.signInProblem = "";
      if (this.phase === "signed-out") this.phase = "starting";
      this.stream.start();
    } catch (error) {
      this.signInProblem = error instanceof Error ? error.message : String(error);
    }
  }

  signedOut(): void {
    this.stream.stop();
    this.waiting = null;
    this.phase = "signed-out";
  }

  retryNow(): void {
    this.stream.hurry();
  }

  private connected(state: Connection, retryAt: number | null): void {
    this.connection = state;
    this.retryAt = retryAt;
    this.isLive = state === "open";
    if (this.isLive) this.tellPanels();
    if (state === "waiting") this.conversations.dropLive();
  }

  /** Tell the server what this window shows; it forgets that with the connection. */
  private tellPanels(): void {
    if (!this.isLive) return;
    const inventory = this.panels.inventory();
    const { windowId } = this.panels;
    if (!this.stream.say({ type: "panel_inventory", windowId, ...inventory })) {
      void api.showWindow(windowId, inventory).catch(() => undefined);
      clearTimeout(this.lease);
      this.lease = setTimeout(() => this.tellPanels(), LEASE_MS);
    }
  }

  private async probe(): Promise<"ok" | "unreachable" | "signed-out"> {
    try {
      await api.agents({ limit: 1 });
      return "ok";
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isSignedOut) return "unreachable";
      this.signedOut();
      return "signed-out";
    }
  }

  // ------------------------------------------------------------ the stream

  private receive(batch: readonly StreamEvent[]): void {
    for (const event of batch) {
      const startsAnew =
        event.type === "resync" || (event.type === "hello" && this.phase !== "ready");
      if (startsAnew && !this.waiting) void this.snapshot();
      if (this.waiting) this.waiting.push(event);
      else this.apply(event);
    }
  }

  /** Read everything anew, then go on with what the stream said meanwhile. */
  private async snapshot(): Promise<void> {
    const held: StreamEvent[] = [];
    this.waiting = held;
    for (let attempt = 0; this.waiting === held; attempt++) {
      try {
        await this.refresh();
        if (this.waiting !== held) return;
        this.waiting = null;
        this.phase = "ready";
        for (const event of held) this.apply(event);
        return;
      } catch (error) {
        if (error instanceof ApiError && error.isSignedOut) return;
        await pause(Math.min(10_000, 500 * 2 ** attempt));
      }
    }
  }

  private async refresh(): Promise<void> {
    const [page, health] = await Promise.all([
      api.agents({ kind: "user", limit: LIST_PAGE }),
      api.health().catch(() => null), // it is an error too when the store takes nothing
      this.readDefinitions(),
      this.requests.refresh(),
    ]);
    if (health) this.version = health.version;
    this.nextCursor = page.nextCursor ?? null;
    this.agents = new Map(page.agents.map((agent) => [agent.id, agent]));
    seen.begin(page.agents);
    this.backgroundCursors = {};
    if (router.agentId) await this.ensureAgent(router.agentId);
    this.schedules.changed();
    panel.tell(null);
    await this.conversations.catchUp();
  }

  private async readDefinitions(): Promise<void> {
    const { definitions, problems } = await api.definitions();
    this.definitions = new Map(definitions.map((definition) => [definition.name, definition]));
    this.problems = problems;
  }

  private apply(event: StreamEvent): void {
    switch (event.type) {
      case "hello":
      case "resync":
        return;
      case "definitions":
        void this.readDefinitions().catch(() => undefined);
        return;
      case "schedules":
        this.schedules.changed();
        return;
      case "artifact":
        panel.tell(event);
        return;
      case "show":
        this.show(event);
        return;
      case "agent":
        this.put(event.agent);
        break;
      case "agent_deleted":
        this.drop(event.agentId);
        return;
      case "request":
        this.requests.put(event.request);
        return;
      case "item":
        if (event.item.fate === "failed") seen.fail(event.agentId, event.item.at);
        if (event.item.sender.type === "schedule") this.schedules.changed(); // how its run goes
        break;
      case "record":
        if (event.record.kind === "user") seen.forgetFailure(event.agentId);
        if (event.record.kind === "note") this.follow(event.agentId, event.record);
        break;
    }
    this.conversations.apply(event);
    this.look();
  }

  /** An agent sent the person on to another one: the window that looks at it goes there. */
  private follow(from: string, note: NoteRecord): void {
    if (note.code !== "switched" || !note.agent || router.agentId !== from) return;
    this.switches.note(note.agent, from);
    router.go(agentHref(note.agent));
  }

  /** This window is asked to open something; it asks in turn where that would disturb. */
  private show({ show, windowId, kind, id, name }: ShowEvent): void {
    if (windowId !== this.panels.windowId || kind === "item") return;
    const place: Place = { mode: kind, id };
    this.panels.follow(show, () => {
      if (panel.visit(place)) return "opened";
      notices.offer(`Open “${name}”?`, "Open", () => panel.open(place));
      return "offered";
    });
  }

  /** The person goes back to the agent that sent them on, which is told what was said here. */
  async goBack(from: string): Promise<void> {
    const home = this.switches.takeBack(from);
    if (!home) return;
    router.go(agentHref(home));
    await this.attempt("Couldn’t pass the conversation on to the agent.", () =>
      api.switchBack(home, from),
    );
  }

  /** What is on the page of a visible window has been seen. */
  look(): void {
    const agent = router.agentId && this.agents.get(router.agentId);
    if (agent && !document.hidden) seen.look(agent);
  }

  isUnread(agent: AgentView): boolean {
    return agent.id !== router.agentId && seen.isUnread(agent) && agent.status !== "running";
  }

  // ------------------------------------------------------------ the list

  private put(...agents: AgentView[]): void {
    const next = new Map(this.agents);
    for (const agent of agents) next.set(agent.id, agent);
    this.agents = next;
  }

  /** A list is older than what the stream said of the same agents. */
  private putNew(agents: readonly AgentView[]): void {
    this.put(...agents.filter((agent) => !this.agents.has(agent.id)));
  }

  private drop(agentId: string): void {
    const next = new Map(this.agents);
    next.delete(agentId);
    this.agents = next;
    this.conversations.forget(agentId);
    this.requests.forget(agentId);
    this.switches.forget(agentId);
    forgetDraft(agentId);
    if (router.agentId === agentId) router.go("#/", { replaces: true });
  }

  private usedDefinitions(): string[] {
    return [...this.agents.values()].map((agent) => agent.definition);
  }

  private matching(): AgentView[] {
    return [...this.agents.values()].filter((agent) =>
      matches(agent, this.query, this.definitions.get(agent.definition)?.displayName ?? ""),
    );
  }

  /** Make sure the list knows an agent that an address names. */
  async ensureAgent(agentId: string): Promise<void> {
    if (this.agents.has(agentId)) return;
    try {
      this.put(await api.agent(agentId));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }

  /** Learn who works for an agent and for whom it works. */
  async readFamily(agentId: string): Promise<void> {
    this.putNew(members(await api.tree(agentId)));
  }

  /** Everybody alive below an agent; what is known when the server cannot be asked. */
  async childrenOf(agentId: string): Promise<AgentView[]> {
    await this.readFamily(agentId).catch(() => undefined);
    return living(branches(agentId, this.agents));
  }

  async loadMore(): Promise<void> {
    if (!this.nextCursor) return;
    const page = await api.agents({ kind: "user", limit: LIST_PAGE, cursor: this.nextCursor });
    this.nextCursor = page.nextCursor ?? null;
    this.putNew(page.agents);
  }

  /** What works in the background is read when somebody looks for it: there may be very much. */
  async loadBackground(): Promise<void> {
    await Promise.all(
      Object.keys(BACKGROUND_KINDS)
        .filter((kind) => !(kind in this.backgroundCursors))
        .map((kind) => this.loadMoreOf(kind)),
    );
  }

  async loadMoreOf(kind: string): Promise<void> {
    const cursor = this.backgroundCursors[kind];
    const page = await api.agents({ kind, limit: KIND_PAGE, cursor });
    this.backgroundCursors = { ...this.backgroundCursors, [kind]: page.nextCursor };
    this.putNew(page.agents);
  }

  /** Show in the list what fits, also what the loaded part of it does not hold. */
  async search(query: string): Promise<void> {
    this.query = query;
    const search = ++this.searches;
    if (!query.trim()) return;
    await pause(200);
    if (search === this.searches) await this.find(query.trim());
  }

  /** Look on the server for agents that are not loaded. */
  async find(query: string): Promise<void> {
    const page = await api.agents({ query, limit: LIST_PAGE });
    this.putNew(page.agents);
  }

  // ------------------------------------------------------------ what people do

  /** Open a new conversation, or the one with this definition that nothing was said in yet. */
  async begin(definition: string): Promise<void> {
    const unused = [...this.agents.values()].find(
      (agent) =>
        agent.definition === definition &&
        agent.kind === "user" &&
        agent.status === "resting" &&
        isUntouched(agent),
    );
    try {
      const agent = unused ?? (await api.create(definition));
      if (!unused && !this.agents.has(agent.id)) this.put(agent);
      seen.look(agent);
      router.go(agentHref(agent.id));
    } catch (error) {
      notices.fail("Couldn’t create the conversation.", error);
    }
  }

  async rename(agentId: string, name: string): Promise<void> {
    await this.attempt("Couldn’t rename the conversation.", async () => {
      this.putOwn(await api.update(agentId, { name: name.trim() || null }));
    });
  }

  async pin(agentId: string, pinned: boolean): Promise<void> {
    await this.attempt(
      pinned ? "Couldn’t pin the conversation." : "Couldn’t unpin the conversation.",
      async () => {
        this.putOwn(await api.update(agentId, { pinned }));
      },
    );
  }

  /** Take in the answer to this window's own change: it is no news to the one who made it. */
  private putOwn(agent: AgentView): void {
    this.put(agent);
    seen.look(agent);
  }

  async clear(agentId: string): Promise<void> {
    await this.attempt("Couldn’t clear the conversation.", () => api.reset(agentId));
  }

  async stop(agentId: string): Promise<void> {
    await this.attempt("Couldn’t stop the agent.", () => api.stop(agentId));
  }

  async terminate(agentId: string): Promise<void> {
    await this.attempt("Couldn’t end the agent.", () => api.terminate(agentId));
  }

  async remove(agentId: string): Promise<void> {
    await this.attempt("Couldn’t delete the conversation.", async () => {
      await api.remove(agentId);
      this.drop(agentId);
    });
  }

  /** Hand the message to the server; a lost answer is asked for again under the same key. */
  async send(agentId: string, draft: Draft): Promise<void> {
    const message = {
      content: draft.context ? `${draft.context}\n${draft.text}` : draft.text,
      key: draft.key,
      ...(draft.attachments.length && { attachments: draft.attachments.map(({ path }) => path) }),
    };
    for (let attempt = 0; ; attempt++) {
      try {
        await api.send(agentId, message);
        return;
      } catch (error) {
        const delay = SEND_RETRIES_MS[attempt];
        if (!(error instanceof ApiError) || !error.isUnreachable || delay === undefined)
          throw error;
        await pause(delay);
      }
    }
  }

  private async attempt(complaint: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      notices.fail(complaint, error);
    }
  }
}

export const app = new App();
