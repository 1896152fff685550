/** The application state, updated by the event stream. */

import { ApiError, api, onSignedOut } from "../api/client";
import { type Connection, EventStream } from "../api/stream";
import type {
  AgentView,
  DefinitionEntry,
  NoteRecord,
  ProblemEntry,
  ShowEvent,
  StreamEvent,
} from "../api/types";
import {
  BACKGROUND_KINDS,
  backgroundGroups,
  grouped,
  huesOf,
  isConversation,
  isUntouched,
  matches,
} from "./agents";
import { branches, liveAgents, members } from "./agentTree";
import { Conversations } from "./conversations.svelte";
import type { MessageDraft } from "./drafts";
import { forgetDraft } from "./drafts";
import { notices } from "./notices.svelte";
import { Panels } from "./panels";
import { readStatus } from "./readStatus.svelte";
import { Requests } from "./requests.svelte";
import { agentHref, router, takeSignInCode } from "./route.svelte";
import { Schedules } from "./schedules.svelte";
import { type PanelRoute, panel } from "./sidePanel.svelte";
import { newKey } from "./storage";
import { Switches } from "./switches.svelte";

type Phase = "starting" | "ready" | "signed-out";

const LIST_PAGE = 100;
const KIND_PAGE = 30;
/** Half of the server's lease for windows without a socket. */
const LEASE_MS = 30_000;
const SEND_RETRIES_MS = [400, 1200];

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

class App {
  phase = $state<Phase>("starting");
  signInProblem = $state("");
  version = $state("");
  connection = $state<Connection>("connecting");
  retryAt = $state<number | null>(null);
  /** False while the stream is disconnected. */
  isLive = $state(false);

  agents = $state.raw<ReadonlyMap<string, AgentView>>(new Map());
  nextCursor = $state.raw<string | null>(null);
  /** The next page of each kind that was loaded. */
  backgroundCursors = $state.raw<Readonly<Record<string, string | null>>>({});
  definitions = $state.raw<ReadonlyMap<string, DefinitionEntry>>(new Map());
  problems = $state.raw<readonly ProblemEntry[]>([]);
  query = $state("");

  readonly conversations = new Conversations();
  readonly requests = new Requests();
  readonly schedules = new Schedules();
  readonly panels = new Panels(newKey(), () => this.reportPanels());
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
  /** Events that arrived during a snapshot; null when none is running. */
  private heldEvents: StreamEvent[] | null = null;
  private searches = 0;
  private lease: ReturnType<typeof setTimeout> | undefined;

  // ------------------------------------------------------------ sign-in and connection

  async start(): Promise<void> {
    onSignedOut(() => this.signedOut());
    window.addEventListener("hashchange", () => void this.signInByLink());
    window.addEventListener("focus", () => this.reportPanels()); // marks this window as last used
    await this.signInByLink();
    if (this.phase !== "ready") this.stream.start();
  }

  private async signInByLink(): Promise<void> {
    const code = takeSignInCode();
    if (code) await this.signIn({ code });
  }

  async signIn(credential: { code: string } | { token: string }): Promise<void> {
    try {
      await api.signIn(credential);
      this.signInProblem = "";
      if (this.phase === "signed-out") this.phase = "starting";
      this.stream.start();
    } catch (error) {
      this.signInProblem = error instanceof Error ? error.message : String(error);
    }
  }

  signedOut(): void {
    this.stream.stop();
    this.heldEvents = null;
    this.phase = "signed-out";
  }

  retryNow(): void {
    this.stream.reconnectNow();
  }

  private connected(state: Connection, retryAt: number | null): void {
    this.connection = state;
    this.retryAt = retryAt;
    this.isLive = state === "open";
    if (this.isLive) this.reportPanels();
    if (state === "waiting") this.conversations.dropLive();
  }

  /** Reports the open panels; the server drops them with the connection. */
  private reportPanels(): void {
    if (!this.isLive) return;
    const inventory = this.panels.inventory();
    const { windowId } = this.panels;
    if (!this.stream.send({ type: "panel_inventory", windowId, ...inventory })) {
      void api.reportWindow(windowId, inventory).catch(() => undefined);
      clearTimeout(this.lease);
      this.lease = setTimeout(() => this.reportPanels(), LEASE_MS);
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

  // ------------------------------------------------------------ event stream

  private receive(batch: readonly StreamEvent[]): void {
    for (const event of batch) {
      const needsSnapshot =
        event.type === "resync" || (event.type === "hello" && this.phase !== "ready");
      if (needsSnapshot && !this.heldEvents) void this.snapshot();
      if (this.heldEvents) this.heldEvents.push(event);
      else this.apply(event);
    }
  }

  /** Reloads everything, then applies the events that arrived meanwhile. */
  private async snapshot(): Promise<void> {
    const held: StreamEvent[] = [];
    this.heldEvents = held;
    for (let attempt = 0; this.heldEvents === held; attempt++) {
      try {
        await this.refresh();
        if (this.heldEvents !== held) return;
        this.heldEvents = null;
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
      api.health().catch(() => null), // also fails when the store rejects writes
      this.readDefinitions(),
      this.requests.refresh(),
    ]);
    if (health) this.version = health.version;
    this.nextCursor = page.nextCursor ?? null;
    this.agents = new Map(page.agents.map((agent) => [agent.id, agent]));
    readStatus.initialise(page.agents);
    this.backgroundCursors = {};
    if (router.agentId) await this.ensureAgent(router.agentId);
    this.schedules.changed();
    panel.notify(null);
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
        panel.notify(event);
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
        if (event.item.fate === "failed") readStatus.markFailed(event.agentId, event.item.at);
        if (event.item.sender.type === "schedule") this.schedules.changed(); // the run's state changed
        break;
      case "record":
        if (event.record.kind === "user") readStatus.clearFailure(event.agentId);
        if (event.record.kind === "note") this.followSwitch(event.agentId, event.record);
        break;
    }
    this.conversations.apply(event);
    this.markRead();
  }

  /** Follows a switch to another agent in the window that shows the conversation. */
  private followSwitch(from: string, note: NoteRecord): void {
    if (note.code !== "switched" || !note.agent || router.agentId !== from) return;
    this.switches.note(note.agent, from);
    router.go(agentHref(note.agent));
  }

  /** Opens an artifact for an agent, or offers to if the user is editing. */
  private show({ show, windowId, kind, id, name }: ShowEvent): void {
    if (windowId !== this.panels.windowId || kind === "item") return;
    const route: PanelRoute = { mode: kind, id };
    this.panels.handleShow(show, () => {
      if (panel.requestOpen(route)) return "opened";
      notices.offer(`Open “${name}”?`, "Open", () => panel.open(route));
      return "offered";
    });
  }

  /** Returns to the previous agent, which receives a summary of the conversation. */
  async goBack(from: string): Promise<void> {
    const home = this.switches.takeOrigin(from);
    if (!home) return;
    router.go(agentHref(home));
    await this.attempt("Couldn’t pass the conversation on to the agent.", () =>
      api.switchBack(home, from),
    );
  }

  /** Marks the open conversation as read while the window is visible. */
  markRead(): void {
    const agent = router.agentId && this.agents.get(router.agentId);
    if (agent && !document.hidden) readStatus.markRead(agent);
  }

  isUnread(agent: AgentView): boolean {
    return agent.id !== router.agentId && readStatus.isUnread(agent) && agent.status !== "running";
  }

  // ------------------------------------------------------------ agent list

  private put(...agents: AgentView[]): void {
    const next = new Map(this.agents);
    for (const agent of agents) next.set(agent.id, agent);
    this.agents = next;
  }

  /** Adds only unknown agents: events are newer than lists. */
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

  /** Loads the agent of the current URL if it is unknown. */
  async ensureAgent(agentId: string): Promise<void> {
    if (this.agents.has(agentId)) return;
    try {
      this.put(await api.agent(agentId));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }

  /** Loads the parents and subagents of an agent. */
  async loadAgentTree(agentId: string): Promise<void> {
    this.putNew(members(await api.tree(agentId)));
  }

  /** All live descendants; only the known ones if the server is unreachable. */
  async childrenOf(agentId: string): Promise<AgentView[]> {
    await this.loadAgentTree(agentId).catch(() => undefined);
    return liveAgents(branches(agentId, this.agents));
  }

  async loadMore(): Promise<void> {
    if (!this.nextCursor) return;
    const page = await api.agents({ kind: "user", limit: LIST_PAGE, cursor: this.nextCursor });
    this.nextCursor = page.nextCursor ?? null;
    this.putNew(page.agents);
  }

  /** Background agents are loaded on demand because there can be many. */
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

  /** Filters the list and searches the server for agents that are not loaded. */
  async search(query: string): Promise<void> {
    this.query = query;
    const search = ++this.searches;
    if (!query.trim()) return;
    await pause(200);
    if (search === this.searches) await this.find(query.trim());
  }

  /** Searches the server for agents that are not loaded. */
  async find(query: string): Promise<void> {
    const page = await api.agents({ query, limit: LIST_PAGE });
    this.putNew(page.agents);
  }

  // ------------------------------------------------------------ user actions

  /** Opens a new conversation, or reuses an empty one with this definition. */
  async startConversation(definition: string): Promise<void> {
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
      readStatus.markRead(agent);
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

  /** Applies the response to this window's own change and marks it as read. */
  private putOwn(agent: AgentView): void {
    this.put(agent);
    readStatus.markRead(agent);
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

  /** Sends a message; retries use the same key. */
  async send(agentId: string, draft: MessageDraft): Promise<void> {
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

  private async attempt(message: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      notices.fail(message, error);
    }
  }
}

export const app = new App();
