import { describe, expect, test } from "vitest";
import { offsets, rowAt, rowsOf, windowOf } from "../src/components/virtualRows";

const keys = Array.from({ length: 1000 }, (_, index) => ({ key: `k${index}` }));

describe("the window of a long list", () => {
  test("guesses rows that nobody saw from those that were measured", () => {
    const tops = offsets(
      keys,
      new Map([
        ["k0", 100],
        ["k1", 300],
      ]),
    );
    expect([...tops.slice(0, 4)]).toEqual([0, 100, 400, 600]);
    expect(rowAt(tops, 99)).toBe(0);
    expect(rowAt(tops, 100)).toBe(1);
    expect(rowAt(tops, 1e9)).toBe(999);
  });

  test("holds what is seen and a margin, and begins at the end when it is told so", () => {
    const tops = offsets(keys, new Map(keys.map(({ key }) => [key, 50])));
    expect(windowOf(tops, { top: 5000, height: 500 }, 100)).toEqual({ start: 98, end: 113 });
    expect(windowOf(tops, { top: Number.MAX_VALUE, height: 500 }, 0)).toEqual({
      start: 990,
      end: 1000,
    });
    expect(windowOf(offsets([], new Map()), { top: 0, height: 500 }, 0).end).toBe(0);
  });

  test("keeps rows that are held elsewhere, with the gap between them", () => {
    const tops = offsets(keys, new Map(keys.map(({ key }) => [key, 10])));
    const rows = rowsOf(tops, [
      { start: 500, end: 502 },
      { start: 3, end: 4 },
      { start: 501, end: 503 },
    ]);
    expect(rows).toEqual([
      { index: 3, gap: 30 },
      { index: 500, gap: 4960 },
      { index: 501, gap: 0 },
      { index: 502, gap: 0 },
    ]);
  });
});
