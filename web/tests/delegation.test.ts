import { describe, expect, test } from "vitest";
import type { ItemView, ToolRecord } from "../src/api/types";
import { emptyConversation } from "../src/state/conversation";
import { delegationOf, queuedBefore, workOn } from "../src/state/delegation";
import { as, calls, item, result, runEnds, says, transcript, user } from "./builders";

const worker = "tz4a98xxat96iws9zmbrgj3a";
const told = (text: string) => ({ ...result(3, "c1"), text }) as ToolRecord;

describe("delegated work", () => {
  test("is known by the wait while it goes on, and by the result after it", () => {
    const wait = { call: "c1", reason: "child", agentId: worker, itemId: "m7" };
    expect(delegationOf(undefined, wait)).toMatchObject({ agentId: worker, state: "waiting" });
    const ended = { status: "complete", sessionId: worker, responseId: "m7", response: "Dug." };
    expect(delegationOf(told(JSON.stringify(ended)), undefined)).toMatchObject({
      agentId: worker,
      itemId: "m7",
      state: "complete",
      response: "Dug.",
    });
  });

  test("is not what only looks like it", () => {
    expect(delegationOf(undefined, { call: "c1", reason: "permission" })).toBeNull();
    for (const text of ["", "{", "[]", '{"status": "complete"}', '{"sessionId": "../x"}']) {
      expect(delegationOf(told(text), undefined)).toBeNull();
    }
    const odd = { status: "lost", sessionId: worker, response: { a: 1 }, toolCalls: [null, 3] };
    expect(delegationOf(told(JSON.stringify(odd)), undefined)).toMatchObject({
      state: "failed",
      response: "",
    });
  });

  test("is the part of a conversation from its message to the end of that turn", () => {
    const records = [
      user(1, "before"),
      says(2, "yes"),
      user(3, "dig", "m7"),
      calls(4, "c1"),
      result(5, "c1"),
      says(6, "dug"),
      user(7, "after"),
      says(8, "no"),
    ];
    const blocks = transcript({ ...emptyConversation("a"), records }, false);
    expect(workOn(blocks, "m7").map(({ key }) => key)).toEqual(["r:4", "r:6"]);
    expect(workOn(blocks, "gone")).toEqual([]);
  });

  test("by two sides goes on until its run ends, whoever speaks", () => {
    const records = [
      user(1, "draw", "m7"),
      as("side_a", says(2, "a draft")),
      as("side_b", says(3, "more shade")),
      as("side_a", says(4, "shaded")),
      runEnds(5),
      user(6, "after"),
    ];
    const blocks = transcript({ ...emptyConversation("a"), records }, false);
    expect(workOn(blocks, "m7").map(({ key }) => key)).toEqual(["r:2", "r:3", "r:4", "r:5"]);
  });

  test("of a subagent is known by its record, and the model's own line is left out", () => {
    const by = (text: string, more: Partial<ToolRecord> = {}) =>
      delegationOf({ ...told(text), agent: worker, ...more }, undefined);
    expect(by(`Started the subagent "tree" (reference: ${worker}). Its`)?.state).toBe("started");
    expect(by(`Sent to ${worker}. Its`)?.state).toBe("started");
    expect(by(`Dug.\n\nReference of this subagent: ${worker}`)).toMatchObject({
      agentId: worker,
      state: "complete",
      response: "Dug.",
    });
    expect(by("No spade.", { status: "error" })).toMatchObject({
      state: "failed",
      problem: "No spade.",
    });
  });

  test("counts what is before it in the queue", () => {
    const queue = [
      item("m1", 1, "running"),
      item("m2", 2),
      item("m3", 3, "answered"),
      item("m4", 4),
    ];
    const items = new Map<string, ItemView>(queue.map((entry) => [entry.id, entry]));
    expect(queuedBefore(items, "m4")).toBe(2);
    expect(queuedBefore(items, "m1")).toBeNull();
    expect(queuedBefore(items, "m9")).toBeNull();
  });
});
