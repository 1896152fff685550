/** What schedules and tasks look at, in words. */

import type { WatchView } from "../../api/shapes";

const WORDS: Record<WatchView["kind"], string> = {
  file: "the file",
  command: "the output of",
  url: "the page",
  list: "the list",
};

export function watchWords({ kind, what }: WatchView): string {
  return `${WORDS[kind]} ${what}`;
}
