import { expect, test } from "vitest";
import {
  ancestors,
  branches,
  entryOf,
  failureOf,
  lifecycleLabel,
  liveAgents,
  statusTextOf,
} from "../src/state/agentTree";
import { agent } from "./builders";

const all = new Map(
  [
    agent("boss"),
    agent("old", { parentId: "boss", status: "terminated" }),
    agent("idle", { parentId: "boss" }),
    agent("busy", { parentId: "boss", status: "running" }),
    agent("deep", { parentId: "busy", status: "waiting" }),
    agent("other"),
  ].map((member) => [member.id, member]),
);

test("a family is a tree with those at work first and those that ended last", () => {
  const found = branches("boss", all);
  expect(found.map((branch) => branch.agent.id)).toEqual(["busy", "idle", "old"]);
  expect(found[0]?.children.map((branch) => branch.agent.id)).toEqual(["deep"]);
  expect(liveAgents(found).map(({ id }) => id)).toEqual(["busy", "deep", "idle"]);
});

test("parents are the nearest first, and a circle of them ends", () => {
  expect(ancestors(agent("x", { parentId: "deep" }), all).map(({ id }) => id)).toEqual([
    "deep",
    "busy",
    "boss",
  ]);
  const one = agent("one", { parentId: "two" });
  const two = agent("two", { parentId: "one" });
  const circle = new Map([one, two].map((member) => [member.id, member]));
  expect(ancestors(one, circle)).toHaveLength(2);
});

test("what a subagent says stands in its parent's registry, and counts while it works", () => {
  const entry = { agentId: "kid", definition: "team", statusText: "digging" };
  const told = (lifecycle: "running" | "idle") => {
    const parent = agent("boss", { children: [{ ...entry, lifecycle }] });
    return entryOf(agent("kid", { parentId: "boss" }), new Map([["boss", parent]]));
  };
  expect(statusTextOf(told("running"))).toBe("digging");
  expect(statusTextOf(told("idle"))).toBe("");
  expect(entryOf(agent("stranger"), all)).toBeUndefined();
});

test("a subagent that gave no result has failed, also when it ended with that", () => {
  const child = (lifecycle: "running" | "idle" | "failed" | "terminated", failure = "") => ({
    agentId: "kid",
    definition: "team",
    lifecycle,
    failure,
  });
  expect(failureOf(child("terminated", "No paper."))).toBe("No paper.");
  expect(lifecycleLabel(child("terminated", "No paper."))).toBe("Failed");
  expect(failureOf(child("running", "No paper."))).toBe("");
  expect(lifecycleLabel(child("terminated"))).toBe("Ended");
  expect(failureOf(child("failed"))).not.toBe("");
  expect(failureOf(undefined)).toBe("");
});
