import { expect, test } from "vitest";
import { firstOf } from "../src/artifacts/pagination";

const COUNT = 730;

async function ask({ limit, offset }: { limit: number; offset: number }) {
  const length = Math.max(0, Math.min(limit, COUNT - offset));
  const items = Array.from({ length }, (_, at) => offset + at);
  return { items, total: COUNT, ...(offset + length < COUNT && { more: "more" }) };
}

test("a long list is read by parts, and tells how long it is", async () => {
  const first = await firstOf<number>(ask, "items", 500);
  expect([first.rows.length, first.rows.at(-1), first.total]).toEqual([500, 499, COUNT]);
  const all = await firstOf<number>(ask, "items", 1000);
  expect([all.rows.length, all.total]).toEqual([COUNT, COUNT]);
});
