/** Forms that agents send to users: drafts, values and validation. */

import { ApiError } from "../api/client";
import type { FormField } from "../api/types";
import { capitalised } from "./format";

/** Input values: text, or booleans for checkboxes. */
export type FormDraft = Record<string, string | boolean>;
export type Problems = Readonly<Record<string, string>>;

export function initialDraft(fields: readonly FormField[]): FormDraft {
  return Object.fromEntries(
    fields.map(({ name, type, default: value }) => [
      name,
      type === "boolean" ? value === true : value == null ? "" : String(value),
    ]),
  );
}

/** The values to send and the errors by field; empty optional fields are omitted. */
export function readDraft(
  fields: readonly FormField[],
  draft: FormDraft,
): { values: Record<string, unknown>; problems: Problems } {
  const values: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const typed = draft[field.name] ?? "";
    if (typeof typed === "boolean") {
      values[field.name] = typed;
    } else if (typed.trim() === "") {
      if (field.required) problems[field.name] = "This field is required.";
    } else {
      const { value, problem } = readText(field, typed);
      if (problem) problems[field.name] = problem;
      else values[field.name] = value;
    }
  }
  return { values, problems };
}

function readText(field: FormField, typed: string): { value?: unknown; problem?: string } {
  if (field.type === "number" || field.type === "integer") {
    const value = Number(typed.trim().replace(/^(-?\d+),(\d+)$/, "$1.$2"));
    if (!Number.isFinite(value)) return { problem: "Enter a number." };
    if (field.type === "integer" && !Number.isInteger(value)) {
      return { problem: "Enter a whole number." };
    }
    const problem = outside(field, value, "");
    return problem ? { problem } : { value };
  }
  const value = field.type === "text" ? typed : typed.trim();
  const isFree = field.type === "string" || field.type === "text";
  const problem = isFree ? outside(field, [...value].length, " characters") : "";
  return problem ? { problem } : { value };
}

function outside({ minimum, maximum }: FormField, size: number, unit: string): string {
  if (minimum != null && size < minimum) return `At least ${minimum}${unit}.`;
  if (maximum != null && size > maximum) return `At most ${maximum}${unit}.`;
  return "";
}

/** Server errors by field; errors without a field are under "". */
export function serverProblems(error: unknown, names: readonly string[]): Problems {
  const message = error instanceof Error ? error.message : String(error);
  const details = error instanceof ApiError ? (error.details as Details | undefined) : undefined;
  const told = details?.fields ?? (details?.field ? [message] : []);
  const found: Record<string, string> = {};
  for (const line of told) {
    const name = names.find((name) => line.startsWith(`${name}: `)) ?? details?.field;
    if (name && names.includes(name)) found[name] = capitalised(line.replace(`${name}: `, ""));
  }
  return Object.keys(found).length ? found : { "": message };
}

interface Details {
  field?: string;
  fields?: string[];
}
