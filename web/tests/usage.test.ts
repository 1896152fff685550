import { expect, test } from "vitest";
import { cost, dayName, daysFrom, firstDay, share, totalOf } from "../src/state/usage";

const NOON = Date.parse("2026-11-16T12:00:00Z");

test("a period ends today and begins so many days before, in UTC", () => {
  expect(firstDay(7, NOON)).toBe("2026-11-10");
  expect(firstDay(0, NOON)).toBeUndefined();
  expect(daysFrom("2026-11-14", NOON)).toEqual(["2026-11-14", "2026-11-15", "2026-11-16"]);
  expect(daysFrom("2026-11-20", NOON)).toHaveLength(1);
  expect(dayName("2026-11-16")).toBe("Nov 16");
});

test("tokens are all kinds together, and a share is of the whole", () => {
  const line = { input: 10, output: 5, cacheRead: 4, cacheWrite: 1 };
  expect(totalOf(line)).toBe(20);
  expect(share(line, { input: 80 })).toBe(25);
  expect(share(line, {})).toBeGreaterThan(0);
});

test("a small cost keeps its digits, and none is no cost", () => {
  expect(cost({ cost: 0.0123 }, "EUR")).toBe("€0.0123");
  expect(cost({ cost: 12.345 }, "USD")).toBe("$12.35");
  expect(cost({ cost: 0 }, "USD")).toBe("$0.00");
  expect(cost({ cost: null }, "USD")).toBe("");
});
