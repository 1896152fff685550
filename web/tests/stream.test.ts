// @vitest-environment jsdom

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { backoff, EventStream } from "../src/api/stream";
import type { StreamEvent } from "../src/api/types";

class FakeSocket {
  static all: FakeSocket[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  sent: string[] = [];

  constructor(readonly url: URL) {
    FakeSocket.all.push(this);
  }

  send(text: string) {
    this.sent.push(text);
  }

  close() {}

  speak(...events: StreamEvent[]) {
    for (const event of events) this.onmessage?.({ data: JSON.stringify(event) });
  }
}

let streams: EventStream[] = [];

function follow(probe: "ok" | "unreachable" | "signed-out" = "ok") {
  const batches: StreamEvent[][] = [];
  const stream = new EventStream({
    events: (batch) => batches.push(batch),
    connection: () => {},
    probe: async () => probe,
  });
  streams.push(stream);
  stream.start();
  return batches;
}

const latest = () => FakeSocket.all.at(-1) as FakeSocket;
const deleted: StreamEvent = { type: "agent_deleted", cursor: 12, agentId: "a" };

beforeEach(() => {
  FakeSocket.all = [];
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
});

afterEach(() => {
  for (const stream of streams) stream.stop();
  streams = [];
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the stream", () => {
  test("gathers what comes within a frame", async () => {
    const batches = follow();
    latest().speak({ type: "hello", cursor: 11 }, deleted);
    await vi.advanceTimersByTimeAsync(200);
    expect(batches.map((batch) => batch.length)).toEqual([2]);
  });

  test("goes on after the last event that arrived", async () => {
    follow();
    latest().onopen?.();
    expect(JSON.parse(latest().sent[0] ?? "")).toMatchObject({ after: null });
    latest().speak({ type: "hello", cursor: 11 }, deleted);
    latest().onclose?.();
    await vi.advanceTimersByTimeAsync(1000);
    expect(FakeSocket.all).toHaveLength(2);
    latest().onopen?.();
    expect(JSON.parse(latest().sent[0] ?? "")).toMatchObject({ type: "subscribe", after: 12 });
  });

  test("stops when the browser is signed out", async () => {
    follow("signed-out");
    latest().onclose?.();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.all).toHaveLength(1);
  });

  test("turns to server-sent events when sockets do not get through", async () => {
    const opened: string[] = [];
    vi.stubGlobal(
      "EventSource",
      class {
        constructor(url: string) {
          opened.push(url);
        }
        close() {}
      },
    );
    follow("ok");
    for (let attempt = 0; attempt < 3; attempt++) {
      latest().onclose?.();
      await vi.advanceTimersByTimeAsync(20_000);
    }
    expect(opened).toEqual(["/api/events"]);
  });

  test("keeps to sockets while the server is down", async () => {
    follow("unreachable");
    for (let attempt = 0; attempt < 5; attempt++) {
      latest().onclose?.();
      await vi.advanceTimersByTimeAsync(20_000);
    }
    expect(FakeSocket.all).toHaveLength(6);
  });
});

test("waits grow, and stay bounded", () => {
  const waits = [0, 1, 2, 3, 10].map((attempt) => backoff(attempt, () => 1));
  expect(waits).toEqual([400, 800, 1600, 3200, 6_000]);
});
