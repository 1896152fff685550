import { describe, expect, test } from "vitest";
import { ApiError } from "../src/api/client";
import type { FormField } from "../src/api/types";
import { initialDraft, readDraft, serverProblems } from "../src/state/form";

const fields: FormField[] = [
  { name: "title", type: "string", required: true, maximum: 5 },
  { name: "count", type: "integer", minimum: 1 },
  { name: "price", type: "number" },
  { name: "sure", type: "boolean" },
  { name: "day", type: "date", default: "2026-11-16" },
];

describe("a form", () => {
  test("begins with its defaults", () => {
    expect(initialDraft(fields)).toEqual({
      title: "",
      count: "",
      price: "",
      sure: false,
      day: "2026-11-16",
    });
  });

  test("gives typed values, and leaves out what is empty and optional", () => {
    const draft = { title: " Tea ", count: "3", price: "1,5", sure: true, day: "" };
    expect(readDraft(fields, draft)).toEqual({
      values: { title: "Tea", count: 3, price: 1.5, sure: true },
      problems: {},
    });
  });

  test("says what is wrong by field", () => {
    const draft = { title: "", count: "1.5", price: "cheap", sure: false, day: "" };
    expect(Object.keys(readDraft(fields, draft).problems)).toEqual(["title", "count", "price"]);
    expect(readDraft(fields, { title: "coffee", count: "0" }).problems).toEqual({
      title: "At most 5 characters.",
      count: "At least 1.",
    });
  });

  test("takes what the server found to the fields, and the rest to the whole", () => {
    const names = fields.map(({ name }) => name);
    const refusal = new ApiError(400, "usage", "all", { fields: ["count: at most 9", "x: no"] });
    expect(serverProblems(refusal, names)).toEqual({ count: "At most 9" });
    const one = new ApiError(400, "usage", "title: too odd", { field: "title" });
    expect(serverProblems(one, names)).toEqual({ title: "Too odd" });
    expect(serverProblems(new Error("Gone."), names)).toEqual({ "": "Gone." });
  });
});
