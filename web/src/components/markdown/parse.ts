/** Markdown to HTML, cut into top-level blocks so that a growing text renders only its last one anew. */

import { Marked, type Token, type TokensList } from "marked";

export interface MarkdownBlock {
  raw: string;
  html: string;
}

const marked = new Marked({
  gfm: true,
  renderer: {
    // No form elements: a task's box is a character.
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

export function parseBlocks(text: string): MarkdownBlock[] {
  const tokens: TokensList = marked.lexer(text);
  return tokens
    .filter((token) => token.type !== "space" && token.type !== "def")
    .map((token: Token) => ({ raw: token.raw, html: marked.parser([token]) }));
}
