import { expect, test } from "vitest";
import type { DefinitionGraph, GraphDefinition, GraphEntry, GraphPrompt } from "../src/api/types";
import { keyOf, leaves } from "../src/state/definitionGraph";

function entry(kind: GraphEntry["kind"], name: string, more: Partial<GraphEntry> = {}): GraphEntry {
  const flags = { isBlocking: false, isResumable: false, isImmediate: false };
  return { kind, name, target: kind === "tool" ? "" : name, optional: null, ...flags, ...more };
}

const prompt = (name: string, ...tools: GraphEntry[]): GraphPrompt => ({
  name,
  file: "",
  model: null,
  hooks: [],
  tools,
});

const graph: DefinitionGraph = {
  definitions: [{ name: "team" } as GraphDefinition],
  prompts: [prompt("namer")],
  problems: [],
};

test("a prompt's entries lead to what they name, and a circle ends", () => {
  const desk = prompt("desk", entry("tool", "weigh"), entry("subagent", "team"));
  const found = leaves(graph, desk, "subagent", []);
  expect(found).toMatchObject([{ definition: { name: "team" }, isCycle: false }]);
  const [leaf] = found;
  const above = leaf ? [keyOf(leaf.entry)] : [];
  expect(leaves(graph, desk, "subagent", above)).toMatchObject([{ isCycle: true }]);
  expect(leaves(graph, desk, "tool", above)).toMatchObject([{ isMissing: false }]);
});

test("a prompt and a definition of one name are two nodes", () => {
  const desk = prompt("desk", entry("prompt", "namer"), entry("handoff", "namer"));
  expect(leaves(graph, desk, "prompt", ["definition:namer"])).toMatchObject([
    { prompt: { name: "namer" }, isCycle: false, isMissing: false },
  ]);
  expect(leaves(graph, desk, "handoff", [])).toMatchObject([{ isMissing: true }]);
});

test("what an entry means is said in words", () => {
  const kept = entry("subagent", "team", { isResumable: true, isImmediate: true, optional: "ON" });
  expect(leaves(graph, prompt("desk", kept), "subagent", [])[0]?.facts).toEqual([
    "starts automatically",
    "non-blocking",
    "resumable",
    "only when ON is on",
  ]);
});
