import { describe, expect, test } from "vitest";
import type { DefinitionEntry, HandoffRecord, KnownRecord } from "../src/api/types";
import { applyEvent, type Conversation, emptyConversation } from "../src/state/conversation";
import { endReason, isReminder, sideLabelOf, turnsOf } from "../src/state/sides";
import { type Block, isFailure, reportOf, type SystemBlock } from "../src/state/transcript";
import { as, calls, reset, result, runEnds, says, transcript, user } from "./builders";

const A = "side_a";
const B = "side_b";

function page(records: KnownRecord[], more: Partial<Conversation> = {}): Block[] {
  return transcript({ ...emptyConversation("a"), records, ...more }, false);
}

const speeches = (blocks: readonly Block[]) =>
  blocks.flatMap((block) =>
    block.type === "assistant" && block.sideTurn
      ? [`${block.side} ${block.sideTurn.turn}:${block.sideTurn.steps}`]
      : [],
  );

const reminder = (seq: number, to: string): KnownRecord => ({
  kind: "system",
  seq,
  at: "",
  origin: "system",
  text: "Go on.",
  to,
});

describe("two sides", () => {
  test("take turns of one or more steps, and a reminder begins no turn", () => {
    const blocks = page([
      user(1, "draw"),
      as(A, calls(2, "c1")),
      result(3, "c1"),
      as(A, says(4, "a draft")),
      as(B, says(5, "hm")),
      reminder(6, B),
      as(B, says(7, "more shade")),
      as(A, says(8, "shaded")),
    ]);
    expect(speeches(blocks)).toEqual(["side_a 1:2", "side_b 2:2", "side_a 3:1"]);
    const ends = blocks.filter((block) => block.type === "assistant" && block.endsTurn);
    expect(ends.map(({ key }) => key)).toEqual(["r:4", "r:7", "r:8"]);
    expect(blocks.filter((block) => block.type === "system").map(isReminder)).toEqual([true]);
  });

  test("count anew in each run, and not at all while its beginning is not loaded", () => {
    const records = [as(B, says(9, "yes")), runEnds(10), user(11, "more"), as(A, says(12, "ok"))];
    expect(speeches(page(records))).toEqual(["side_b 1:1", "side_a 1:1"]);
    expect(speeches(page(records, { hasOlder: true }))).toEqual(["side_b 0:1", "side_a 1:1"]);
    const cleared = [reset(9), user(10, "new"), as(A, says(11, "ok"))];
    expect(speeches(page(cleared, { hasOlder: true }))).toEqual(["side_a 1:1"]);
  });

  test("are the same live and replayed", () => {
    const before = { ...emptyConversation("a"), records: [user(1, "x"), as(A, says(2, "y"))] };
    const step = { type: "step", agentId: "a", step: "s1", state: "started", side: B } as const;
    const streamed = applyEvent(before, step, 0);
    const said = {
      type: "delta",
      agentId: "a",
      step: "s1",
      part: 0,
      kind: "text",
      text: "z",
    } as const;
    const shown = transcript(applyEvent(streamed, said, 0), false);
    expect(speeches(shown)).toEqual(["side_a 1:1", "side_b 2:1"]);
    const record = {
      type: "record",
      cursor: 1,
      agentId: "a",
      record: as(B, says(3, "z")),
    } as const;
    const replayed = transcript(applyEvent(before, record, 0), false);
    expect(speeches(replayed)).toEqual(speeches(shown));
  });

  test("are called as the definition says, else by their letters", () => {
    const sides = [
      { name: A, label: "Worker" },
      { name: B, label: "" },
    ];
    const definition = { sides } as unknown as DefinitionEntry;
    expect(sideLabelOf(A, definition)).toEqual({ letter: "A", label: "Worker" });
    expect(sideLabelOf(B, definition)).toEqual({ letter: "B", label: "Side B" });
    expect(sideLabelOf(B, undefined)?.label).toBe("Side B");
    expect(sideLabelOf("", definition)).toBeNull();
  });
});

describe("the end of a run", () => {
  test("names who acted last, and counts the turn that it cut", () => {
    const blocks = page([user(1, "x"), as(A, says(2, "y")), as(B, calls(3, "c")), runEnds(4)]);
    expect(blocks.at(-1)).toMatchObject({ type: "run", side: B });
    expect(turnsOf(runEnds(4, { turns: 1 }))).toBe(2);
    expect(turnsOf(runEnds(4, { turns: 8, code: "max_session_turns" }))).toBe(8);
  });

  test("has words for its code, also for one that is not known", () => {
    expect(endReason("session_fail", "Worker")).toBe("Worker reported a failure");
    expect(endReason("bad_weather", "Worker")).toBe("bad weather");
  });
});

test("a subagent's report is told apart from words like it", () => {
  const kid = "tz4a98xxat96iws9zmbrgj3a";
  const text = `Subagent (reference: ${kid}) has reported a failure:\n\nNo spade.`;
  expect(reportOf(text)).toEqual({ title: "Failure in", text: "No spade." });
  expect(reportOf("Subagent (reference: x) has reported a failure:\n\n")).toBeNull();
  const notice = { type: "system", origin: kid, text } as SystemBlock;
  expect(isFailure(notice)).toBe(true);
  expect(isFailure({ ...notice, origin: "system" })).toBe(false);
});

test("what was said before a handoff stays the words of who said it", () => {
  const over: HandoffRecord = {
    kind: "handoff",
    seq: 3,
    at: "",
    source: "desk",
    target: "billing",
  };
  const blocks = page([user(1, "x"), says(2, "one moment"), over, says(4, "hello")]);
  expect(blocks).toMatchObject([{}, { spokenBy: "desk" }, { type: "handoff" }, { spokenBy: "" }]);
});
