import { describe, expect, test } from "vitest";
import type { CommittedEvent, KnownRecord, LiveEvent } from "../src/api/types";
import {
  applyEvent,
  type Conversation,
  emptyConversation,
  mergeRecords,
  onlyLive,
  withHistory,
  withOpenItems,
  withoutLive,
} from "../src/state/conversation";
import { agent, calls, item, reset, result, says, user } from "./builders";

function told(...events: (CommittedEvent | LiveEvent)[]): Conversation {
  return events.reduce((known, event) => applyEvent(known, event, 1000), emptyConversation("a"));
}

const recorded = (record: KnownRecord): CommittedEvent => ({
  type: "record",
  cursor: record.seq,
  agentId: "a",
  record,
});
const started = (step: string): LiveEvent => ({
  type: "step",
  agentId: "a",
  step,
  state: "started",
  model: "test",
});
const discarded = (step: string): LiveEvent => ({
  type: "step",
  agentId: "a",
  step,
  state: "discarded",
});
const delta = (step: string, part: number, text: string): LiveEvent => ({
  type: "delta",
  agentId: "a",
  step,
  part,
  kind: "text",
  text,
});

describe("a conversation that nobody has opened", () => {
  test("keeps what streams from its beginning, and nothing else", () => {
    const heard = onlyLive(told(recorded(user(1, "hi")), started("s1"), delta("s1", 0, "Hel")));
    expect(heard).toMatchObject({ records: [], live: { isWhole: true, parts: [{ text: "Hel" }] } });
    const over = told(started("s1"), delta("s1", 0, "Hel"), recorded(says(2, "Hello")));
    expect(onlyLive(over)).toBeNull();
  });
});

describe("records", () => {
  test("merge by sequence number, whatever way and order they come", () => {
    const known = [user(3, "c"), says(4, "d")];
    expect(mergeRecords(known, [user(1, "a"), says(2, "b")]).map(({ seq }) => seq)).toEqual([
      1, 2, 3, 4,
    ]);
    expect(mergeRecords(known, [says(4, "d"), user(5, "e")]).map(({ seq }) => seq)).toEqual([
      3, 4, 5,
    ]);
  });

  test("that are known already change nothing", () => {
    const known = [user(1, "a"), says(2, "b")];
    expect(mergeRecords(known, [says(2, "b")])).toBe(known);
    expect(mergeRecords(known, [])).toBe(known);
  });

  test("from a page and from the stream are one history", () => {
    const live = told(recorded(user(7, "g")), recorded(says(8, "h")));
    const loaded = withHistory(live, [user(5, "e"), says(6, "f"), user(7, "g")], true);
    expect(loaded.records.map(({ seq }) => seq)).toEqual([5, 6, 7, 8]);
    expect(loaded.hasOlder).toBe(true);
  });
});

describe("a streamed step", () => {
  test("grows part by part", () => {
    const { live } = told(
      started("s1"),
      delta("s1", 0, "Hel"),
      delta("s1", 0, "lo"),
      delta("s1", 2, "!"),
    );
    expect(live?.parts.map(({ text }) => text)).toEqual(["Hello", "", "!"]);
    expect(live?.isWhole).toBe(true);
  });

  test("makes way for its record and leaves it its place", () => {
    const done = told(started("s1"), delta("s1", 0, "Hello"), recorded(says(2, "Hello")));
    expect(done.live).toBeNull();
    expect(done.stepOf.get(2)).toBe("s1");
  });

  test("that is thrown away is gone, and known to be tried again", () => {
    const gone = told(started("s1"), delta("s1", 0, "Hel"), discarded("s1"));
    expect(gone.live).toBeNull();
    expect(gone.isRetrying).toBe(true);
    expect(applyEvent(gone, started("s2"), 0).isRetrying).toBe(true);
    const again = [started("s2"), delta("s2", 0, "Hi")];
    expect(again.reduce((known, event) => applyEvent(known, event, 0), gone).isRetrying).toBe(
      false,
    );
  });

  test("that began before this window looked is not shown with its head missing", () => {
    expect(told(delta("s1", 0, "lo, world")).live?.isWhole).toBe(false);
  });

  test("begins anew when the server tells it from the start again", () => {
    const { live } = told(delta("s1", 0, "lo"), started("s1"), delta("s1", 0, "Hello"));
    expect(live?.parts[0]?.text).toBe("Hello");
    expect(live?.isWhole).toBe(true);
  });

  test("ends with a rest, a reset and a lost connection", () => {
    const busy = told(started("s1"), delta("s1", 0, "Hel"));
    const rests: CommittedEvent = { type: "agent", cursor: 9, agentId: "a", agent: agent("a") };
    expect(applyEvent(busy, rests, 0).live).toBeNull();
    expect(applyEvent(busy, recorded(reset(5)), 0).live).toBeNull();
    expect(withoutLive(busy).live).toBeNull();
  });
});

describe("a tool", () => {
  const progress = (call: string, text: string): LiveEvent => ({
    type: "tool",
    agentId: "a",
    call,
    name: "look",
    state: text ? "progress" : "started",
    text,
  });

  test("runs from its start to its result, and shows the latest progress", () => {
    const busy = told(recorded(calls(1, "c1")), progress("c1", ""), progress("c1", "half"));
    expect(busy.tools.get("c1")).toEqual({ startedAt: 1000, progress: "half" });
    expect(applyEvent(busy, recorded(result(2, "c1")), 0).tools.size).toBe(0);
  });
});

describe("items", () => {
  test("of the stream are newer than those of a list", () => {
    const known = told({ type: "item", cursor: 1, agentId: "a", item: item("m1", 1, "answered") });
    const merged = withOpenItems(known, [item("m1", 1, "queued"), item("m2", 2)]);
    expect(merged.items.get("m1")?.fate).toBe("answered");
    expect(merged.items.get("m2")?.fate).toBe("queued");
  });
});
