/** The event stream: a WebSocket with server-sent events as fallback, resumed by cursor. */

import type { StreamEvent } from "./types";

export type Connection = "connecting" | "open" | "waiting";

export interface StreamHooks {
  /** Events in order, batched per animation frame. */
  events(batch: StreamEvent[]): void;
  /** `retryAt` is set while waiting for the next attempt. */
  connection(state: Connection, retryAt: number | null): void;
  /** Called after a failed attempt to check that the browser is still signed in. */
  probe(): Promise<"ok" | "unreachable" | "signed-out">;
}

interface Transport {
  close(): void;
  /** Missing for transports that only receive. */
  send?(text: string): void;
}

type Opener = (after: number | null, on: TransportHooks) => Transport;

interface TransportHooks {
  open(): void;
  message(text: string): void;
  lost(): void;
}

const openSocket: Opener = (after, on) => {
  const address = new URL("/api/ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(address);
  socket.onopen = () => {
    socket.send(JSON.stringify({ type: "subscribe", after, agent: null }));
    on.open();
  };
  socket.onmessage = (message) => on.message(String(message.data));
  socket.onclose = () => on.lost();
  return {
    close: () => socket.close(),
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
  };
};

const openEventSource: Opener = (after, on) => {
  const source = new EventSource(after === null ? "/api/events" : `/api/events?after=${after}`);
  source.onopen = () => on.open();
  source.onmessage = (message) => on.message(String(message.data));
  source.onerror = () => {
    source.close();
    on.lost();
  };
  return { close: () => source.close() };
};

const FIRST_DELAY_MS = 400;
const MAX_DELAY_MS = 6_000;
const SOCKET_FAILURES_BEFORE_FALLBACK = 3;
const HIDDEN_PAGE_FLUSH_MS = 120;

export function backoff(attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt);
  return Math.round(ceiling * (0.6 + 0.4 * random()));
}

export class EventStream {
  private cursor: number | null = null;
  private transport: Transport | null = null;
  private generation = 0;
  private attempt = 0;
  private socketFailures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pending: StreamEvent[] = [];
  private isStopped = true;

  constructor(private readonly hooks: StreamHooks) {}

  start(): void {
    if (!this.isStopped) return;
    this.isStopped = false;
    window.addEventListener("online", this.reconnectNow);
    document.addEventListener("visibilitychange", this.reconnectNow);
    this.connect();
  }

  stop(): void {
    this.isStopped = true;
    window.removeEventListener("online", this.reconnectNow);
    document.removeEventListener("visibilitychange", this.reconnectNow);
    clearTimeout(this.timer);
    this.generation++;
    this.transport?.close();
    this.transport = null;
    this.pending = [];
    this.cursor = null;
  }

  /** Sends a message; false when the transport only receives, as with server-sent events. */
  send(message: object): boolean {
    if (!this.transport?.send) return false;
    this.transport.send(JSON.stringify(message));
    return true;
  }

  /** Reconnects immediately instead of waiting for the back-off. */
  readonly reconnectNow = (): void => {
    if (this.isStopped || this.transport || document.hidden) return;
    clearTimeout(this.timer);
    this.attempt = 0;
    this.connect();
  };

  private connect(): void {
    const generation = ++this.generation;
    const usesSocket = this.socketFailures < SOCKET_FAILURES_BEFORE_FALLBACK;
    let hasReceived = false;
    const isCurrent = () => generation === this.generation && !this.isStopped;
    this.hooks.connection("connecting", null);
    this.transport = (usesSocket ? openSocket : openEventSource)(this.cursor, {
      open: () => {},
      message: (text) => {
        if (!isCurrent()) return;
        if (!hasReceived) {
          hasReceived = true;
          this.attempt = 0;
          if (usesSocket) this.socketFailures = 0;
          this.hooks.connection("open", null);
        }
        this.receive(JSON.parse(text) as StreamEvent);
      },
      lost: () => {
        if (isCurrent()) void this.recover(generation, usesSocket && !hasReceived);
      },
    });
  }

  private async recover(generation: number, neverReceived: boolean): Promise<void> {
    this.transport = null;
    const delay = backoff(this.attempt++);
    this.hooks.connection("waiting", Date.now() + delay);
    const answer = await this.hooks.probe();
    if (generation !== this.generation || this.isStopped) return;
    if (answer === "signed-out") return this.stop();
    // HTTP works but the socket never opened: a proxy probably blocks WebSockets.
    if (neverReceived && answer === "ok") this.socketFailures++;
    this.timer = setTimeout(() => this.connect(), delay);
  }

  private receive(event: StreamEvent): void {
    if ("cursor" in event && (event.type !== "hello" || this.cursor === null)) {
      this.cursor = event.cursor;
    }
    this.pending.push(event);
    if (this.pending.length > 1) return;
    requestAnimationFrame(this.flush);
    setTimeout(this.flush, HIDDEN_PAGE_FLUSH_MS); // a hidden page gets no animation frames
  }

  private readonly flush = (): void => {
    const batch = this.pending;
    this.pending = [];
    if (batch.length) this.hooks.events(batch);
  };
}
