// Writes src/api/generated.ts from openapi.json: one TypeScript type for each schema.
// `node scripts/types.mjs --check` only says whether the file is current.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const { components } = JSON.parse(readFileSync(at("openapi.json"), "utf8"));
const SCALARS = {
  integer: "number",
  number: "number",
  string: "string",
  boolean: "boolean",
  null: "null",
};

function expression(schema) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map(expression))].join(" | ");
  if (schema.type === "array")
    return `Array<${schema.items ? expression(schema.items) : "unknown"}>`;
  if (schema.type === "object" || schema.properties) return shape(schema);
  return SCALARS[schema.type] ?? "unknown";
}

function shape(schema) {
  if (!schema.properties) {
    const { additionalProperties: values } = schema;
    return `Record<string, ${typeof values === "object" ? expression(values) : "unknown"}>`;
  }
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties).map(
    ([name, value]) => `${name}${required.has(name) ? "" : "?"}: ${expression(value)}`,
  );
  if (!fields.length) return "Record<string, never>";
  const line = `{ ${fields.join("; ")} }`;
  return line.length < 90 ? line : `{\n  ${fields.join(";\n  ")};\n}`;
}

/** A schema called Record would hide TypeScript's own. */
const renamed = (text) =>
  text.replaceAll('#/components/schemas/Record"', '#/components/schemas/HistoryRecord"');
const schemas = JSON.parse(renamed(JSON.stringify(components.schemas)));
schemas.HistoryRecord = schemas.Record;
delete schemas.Record;

const text = [
  "// Written by `npm run types` from openapi.json; change the server's wire types instead.\n",
  ...Object.keys(schemas)
    .sort()
    .map((name) => {
      const { description } = schemas[name];
      const comment = description ? `/** ${description.split("\n")[0]} */\n` : "";
      return `${comment}export type ${name} = ${expression(schemas[name])};\n`;
    }),
].join("\n");

const target = at("src/api/generated.ts");
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("src/api/generated.ts is not what openapi.json says: run `npm run types`.");
    process.exit(1);
  }
} else writeFileSync(target, text);
