import { describe, expect, test } from "vitest";
import type { AgentView } from "../src/api/types";
import { agentTitle, backgroundGroups, grouped, huesOf, matches } from "../src/state/agents";
import { agent } from "./builders";

describe("the list", () => {
  test("has the pinned first, then groups, and background work apart, by kind", () => {
    const agents = [
      agent("a", { definition: "zeta" }),
      agent("b", { definition: "alpha", pinnedAt: "2026-11-16T09:00:00Z" }),
      agent("c", { definition: "alpha" }),
      agent("d", { kind: "cron" }),
      agent("e", { kind: "permanent" }),
      agent("f", { kind: "subagent", pinnedAt: "2026-11-16T08:00:00Z" }),
    ];
    const keys = grouped(agents, new Map()).map(({ key }) => key);
    expect(keys).toEqual(["pinned", "d:alpha", "d:zeta"]);
    expect(backgroundGroups(agents).map(({ key }) => key)).toEqual(["permanent", "cron"]);
  });

  test("orders by what the person did, not by what agents did", () => {
    const early = "2026-11-16T07:00:00Z";
    const late = "2026-11-16T09:00:00Z";
    const [group] = grouped(
      [
        agent("quiet", { lastUserActivityAt: late }),
        agent("busy", { lastUserActivityAt: early, updatedAt: "2026-11-16T10:00:00Z" }),
      ],
      new Map(),
    );
    expect(group?.agents.map(({ id }) => id)).toEqual(["quiet", "busy"]);
  });

  test("names a conversation by its name, else by how it began", () => {
    const title = (more: Partial<AgentView> = {}) => agentTitle(agent("a", more), new Map());
    expect(title({ name: "Taxes", lastSnippet: "hi" })).toBe("Taxes");
    expect(title({ title: "## The **plan**\nmore" })).toBe("The plan");
    expect(title()).toBe("New conversation");
    const child = { kind: "subagent", descriptor: { name: "Digger" }, lastSnippet: "dig" } as const;
    expect(title(child)).toBe("Digger");
    expect(title({ kind: "cron", descriptor: { id: "news" } })).toBe("news");
    expect(title({ kind: "heartbeat" })).toBe("Heartbeat");
  });

  test("names a conversation that only agents wrote to by its definition", () => {
    const answered = agent("a", { definition: "todo", lastSnippet: "Added milk." });
    expect(agentTitle(answered, new Map())).toBe("todo");
    const spoken = { ...answered, title: "buy milk", lastUserActivityAt: "2026-11-16T09:00:00Z" };
    expect(agentTitle(spoken, new Map())).toBe("buy milk");
  });

  test("is searched by name, text and definition", () => {
    const one = agent("a", { name: "Taxes", lastSnippet: "forms" });
    expect(["tax", "FORM", "Helper"].every((query) => matches(one, query, "Helper"))).toBe(true);
    expect(matches(one, "dog", "Helper")).toBe(false);
  });
});

test("definitions share no colour while there are enough", () => {
  const names = ["general", "ops", "reading", "todo", "journal", "home"];
  expect(new Set(huesOf(names).values()).size).toBe(names.length);
  expect(huesOf(names)).toEqual(huesOf([...names].reverse()));
});
