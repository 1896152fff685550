/** Input and display of a list's custom fields. */

import type { CustomField, FieldType, FieldValue } from "./types";

export const INPUT_TYPES: Record<FieldType, string> = {
  text: "text",
  number: "number",
  date: "date",
  time: "time",
  datetime: "datetime-local",
  select: "text",
  checkbox: "checkbox",
};

export const TYPE_LABELS: Record<FieldType, string> = {
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

/** The input as the operation expects it; null removes the value. */
export function writtenValue(field: CustomField, text: string): FieldValue | null {
  if (text === "") return null;
  if (field.type === "number") return Number(text);
  return text;
}

/** Parses tags separated by commas or spaces, with or without `#`. */
export function tagsOf(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((tag) => tag.replace(/^#/, ""))
    .filter(Boolean);
}
