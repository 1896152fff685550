import { expect, test } from "vitest";
import { preview } from "../src/components/toolCall";

const form = (more: object) => ({ type: "object", properties: { colour: {} }, ...more });

test("a question to the owner is told by what is asked, not by its schema", () => {
  const asked = (args: Record<string, unknown>) => preview("ask_user", args, "");
  expect(asked({ schema: form({}), title: "Which colour?" })).toBe("Which colour?");
  expect(asked({ schema: form({ title: "The wall" }) })).toBe("The wall");
  expect(asked({ schema: form({ properties: { a: { title: "Your name" }, b: {} } }) })).toBe(
    "Your name, b",
  );
});

test("other calls are told by their arguments", () => {
  expect(preview("weigh", { thing: "an apple" }, "")).toBe("an apple");
  expect(preview("weigh", { thing: "an apple", often: 2 }, "")).toBe("thing: an apple, often: 2");
});
