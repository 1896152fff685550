import { describe, expect, test } from "vitest";
import type { ItemView, KnownRecord } from "../src/api/types";
import { preview, visible } from "../src/components/toolCall";
import { type Conversation, emptyConversation } from "../src/state/conversation";
import {
  type Block,
  clearedBefore,
  isFailure,
  results,
  type SystemBlock,
  scheduledOf,
  visibleText,
} from "../src/state/transcript";
import { calls, item, reset, result, says, transcript, user } from "./builders";

function page(records: KnownRecord[], more: Partial<Conversation> = {}, all = false): Block[] {
  return transcript({ ...emptyConversation("a"), records, ...more }, all);
}

const open = (...items: ItemView[]) => new Map(items.map((entry) => [entry.id, entry]));

describe("the page", () => {
  test("shows a step that is streamed and its record under one key", () => {
    const live = { id: "s1", model: "m", side: "", isWhole: true, parts: [] };
    const streamed = page([user(1, "hi")], { live });
    const committed = page([user(1, "hi"), says(2, "Hello")], { stepOf: new Map([[2, "s1"]]) });
    expect(streamed.map(({ key }) => key)).toEqual(committed.map(({ key }) => key));
  });

  test("shows a queued message and its record under one key, never both", () => {
    const items = open(item("m9", 1, "running"));
    const queued = page([], { items });
    const drained = page([user(1, "hi", "m9")], { items });
    expect(queued.map(({ key }) => key)).toEqual(["i:m9"]);
    expect(drained.map(({ key }) => key)).toEqual(["i:m9"]);
  });

  test("puts results into their calls, and shows one alone when its call is not loaded", () => {
    const blocks = page([result(4, "c0"), calls(5, "c1"), result(6, "c1")]);
    expect(blocks.map(({ type }) => type)).toEqual(["result", "assistant"]);
    expect(results([calls(5, "c1"), result(6, "c1")]).get("c1")?.text).toBe("seen");
  });

  test("counts places in the queue, after everything that was said", () => {
    const items = open(item("m3", 3), item("m2", 2), item("m1", 1, "answered"));
    const blocks = page([user(1, "one", "m1"), says(2, "yes")], { items });
    expect(blocks.slice(2)).toMatchObject([
      { id: "m2", position: 1 },
      { id: "m3", position: 2 },
    ]);
  });

  test("shows what agents delegated as theirs, and no answers or withdrawals in the queue", () => {
    const boss = "tz4a98xxat96iws9zmbrgj3a";
    const items = open(
      { ...item("m1", 1), sender: { type: "agent", id: boss } },
      { ...item("m2", 2), kind: "answer", sender: { type: "agent", id: boss } },
      { ...item("m3", 3), kind: "withdrawal", sender: { type: "agent", id: boss } },
    );
    expect(page([], { items })).toMatchObject([{ key: "i:m1", author: boss, position: 1 }]);
    const recorded = { ...user(1, "dig", "m1"), sender: boss } as KnownRecord;
    expect(page([recorded, user(2, "hi")])).toMatchObject([{ author: boss }, { author: "" }]);
  });

  test("tells bad news by the engine's words from an agent, not by words like them", () => {
    const boss = "tz4a98xxat96iws9zmbrgj3a";
    const notice = (origin: string, text: string) =>
      page([{ kind: "system", seq: 1, at: "", origin, text }])[0] as SystemBlock;
    const failed = `The background agent "Digger" (${boss}) failed: no spade`;
    expect(isFailure(notice(boss, failed))).toBe(true);
    expect(isFailure(notice("system", failed))).toBe(false);
    expect(isFailure(notice(boss, "I have dug. Nothing failed."))).toBe(false);
  });

  test("begins at the last reset unless asked for more", () => {
    const records = [user(1, "old"), says(2, "older"), reset(3), user(4, "new")];
    expect(clearedBefore(records)).toBe(3);
    expect(page(records).map(({ type }) => type)).toEqual(["reset", "user"]);
    expect(page(records, {}, true)).toHaveLength(4);
  });

  test("marks the end of a turn once, at its last answer", () => {
    const ends = page([user(1, "go"), calls(2, "c"), result(3, "c"), says(4, "done")])
      .filter((block) => block.type === "assistant")
      .map((block) => block.endsTurn);
    expect(ends).toEqual([false, true]);
  });

  test("hides a step whose beginning was missed", () => {
    const live = {
      id: "s1",
      model: "",
      side: "",
      isWhole: false,
      parts: [{ kind: "text" as const, text: "tail", name: "" }],
    };
    expect(page([user(1, "hi")], { live })).toHaveLength(1);
  });

  test("names a record of a kind that it does not know", () => {
    const strange = { kind: "omen", seq: 1, at: "2026-11-16T08:00:00Z" };
    expect(page([strange as unknown as KnownRecord])).toMatchObject([
      { type: "unknown", kind: "omen" },
    ]);
  });

  test("tells who goes on after a handoff", () => {
    const handoff = { kind: "handoff", seq: 1, at: "", source: "desk", target: "billing" } as const;
    expect(page([handoff])).toMatchObject([{ type: "handoff", record: { target: "billing" } }]);
  });
});

test("the line for the model is not for people", () => {
  expect(visibleText('<context panel-id="p1" />\nhello')).toBe("hello");
  expect(visibleText("<b>hello</b>")).toBe("<b>hello</b>");
});

test("a schedule's head becomes a title, and its prompt stays", () => {
  const text = "[schedule] Tea\nid: tea\ndue: 2026-11-16 17:00 (UTC)\n\nnote: make\n\ntea";
  const due = "2026-11-16 17:00 (UTC)";
  expect(scheduledOf(text)).toEqual({ title: "Schedule: Tea", due, text: "note: make\n\ntea" });
  expect(scheduledOf("say [schedule] Tea\n\nnow")).toBeNull();
});

test("what would hide or turn text around in a call is written out", () => {
  expect(preview("look", { path: "a\u202egnp.exe" }, "")).toBe("a<U+202E>gnp.exe");
  expect(visible("\u001b[31mred\n\ttab\u200b")).toBe("<U+001B>[31mred\n\ttab<U+200B>");
  expect(visible("Grüße, 日本 and שלום")).toBe("Grüße, 日本 and שלום");
});
