/** Text search in a conversation. */

import type { ToolRecord } from "../api/types";
import type { Block, PartBlock } from "./transcript";

/** Markdown markup, which is not visible. */
const MARKS = /[*_`~]+/g;

/** The indexes of the blocks that contain the query. */
export function findBlocks(
  blocks: readonly Block[],
  results: ReadonlyMap<string, ToolRecord>,
  query: string,
): number[] {
  const wanted = query.trim().toLocaleLowerCase();
  if (!wanted) return [];
  return blocks.flatMap((block, index) =>
    textOf(block, results).toLocaleLowerCase().includes(wanted) ? [index] : [],
  );
}

function textOf(block: Block, results: ReadonlyMap<string, ToolRecord>): string {
  switch (block.type) {
    case "user":
    case "system":
      return [block.text, ...block.files.map(({ path }) => path)].join("\n");
    case "assistant":
      return block.parts.map((part) => partText(part, results)).join("\n");
    case "result":
    case "summary":
    case "note":
      return block.record.text;
    case "run":
    case "handoff":
      return block.record.text ?? "";
    default:
      return "";
  }
}

function partText(part: PartBlock, results: ReadonlyMap<string, ToolRecord>): string {
  if (part.type !== "call") return `${part.text}\n${part.text.replace(MARKS, "")}`;
  const given = part.raw || JSON.stringify(part.arguments ?? {});
  return [part.name, given, results.get(part.id)?.text ?? ""].join("\n");
}

/** The matches in these elements. */
export function findRanges(roots: Iterable<Element>, query: string): globalThis.Range[] {
  const wanted = query.trim().toLocaleLowerCase();
  const places: globalThis.Range[] = [];
  if (!wanted) return places;
  for (const root of roots) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = (node.nodeValue ?? "").toLocaleLowerCase();
      if (text.length !== node.nodeValue?.length) continue;
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        places.push(range);
      }
    }
  }
  return places;
}
