/** Fields of a list's own: how their values are written and shown. */

import type { CustomField, FieldType, FieldValue } from "./shapes";

export const INPUT_TYPES: Record<FieldType, string> = {
  text: "text",
  number: "number",
  date: "date",
  time: "time",
  datetime: "datetime-local",
  select: "text",
  checkbox: "checkbox",
};

export const TYPE_WORDS: Record<FieldType, string> = {
  text: "Text",
  number: "Number",
  date: "Date",
  time: "Time",
  datetime: "Date and time",
  select: "Single choice",
  checkbox: "Checkbox",
};

export function shownValue(field: CustomField, value: FieldValue): string {
  if (field.type === "checkbox") return value ? "yes" : "no";
  return String(value);
}

/** What was written in a field, as the operation takes it; null takes the value away. */
export function writtenValue(field: CustomField, text: string): FieldValue | null {
  if (text === "") return null;
  if (field.type === "number") return Number(text);
  return text;
}

/** Tags as people write them: apart by commas or spaces, with or without a mark. */
export function tagsOf(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((tag) => tag.replace(/^#/, ""))
    .filter(Boolean);
}
