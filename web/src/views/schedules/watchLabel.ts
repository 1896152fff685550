/** A label for what a schedule or task watches. */

import type { WatchView } from "../../api/types";

const WORDS: Record<WatchView["kind"], string> = {
  file: "the file",
  command: "the output of",
  url: "the page",
  list: "the list",
};

export function watchLabel({ kind, what }: WatchView): string {
  return `${WORDS[kind]} ${what}`;
}
