/** Markdown to HTML, cut into top-level blocks so that a growing text renders only its last one anew. */

import { Marked, type Token, type TokensList } from "marked";

export interface MarkdownBlock {
  raw: string;
  html: string;
}

const TAG = /<[^>]*>?/g;
const VALUE = `\\s*=\\s*(?:"[^"<>]*"|'[^'<>]*'|[\\w./:#?&=%+-]+)`;
const ATTRIBUTE = `\\s+(?:open|(?:alt|align|colspan|href|rowspan|src|start|title|width|height)${VALUE})`;
const NAMES =
  "a abbr b blockquote br code dd del details dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol " +
  "p pre q s samp small strong sub summary sup table tbody td tfoot th thead tr u ul var";
const PLAIN_TAG = new RegExp(`^</?(?:${NAMES.replaceAll(" ", "|")})(?:${ATTRIBUTE})*\\s*/?>$`, "i");
const COMMENT = /<!--[\s\S]*?(?:-->|$)/g;

const escaped = (text: string) => text.replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** HTML inside Markdown: plain tags stay tags, and everything else is text that people can see. */
function plainHtml(html: string): string {
  return html
    .replace(COMMENT, "")
    .replace(TAG, (tag) => (PLAIN_TAG.test(tag) ? tag : escaped(tag)));
}

const marked = new Marked({
  gfm: true,
  renderer: {
    // No form elements: a task's box is a character.
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    html: ({ text }) => plainHtml(text),
  },
});

const isShown = (token: Token) => token.type !== "space" && token.type !== "def";
const block = (token: Token): MarkdownBlock => ({ raw: token.raw, html: marked.parser([token]) });

export function parseBlocks(text: string): MarkdownBlock[] {
  const tokens: TokensList = marked.lexer(text);
  return tokens.filter(isShown).map(block);
}

/** A text that grows at its end: every block but the last is parsed once. */
export class GrowingText {
  private settled: MarkdownBlock[] = [];
  private settledText = "";

  blocks(text: string): MarkdownBlock[] {
    const clean = text.replace(/\r\n?/g, "\n");
    if (!clean.startsWith(this.settledText)) {
      this.settled = [];
      this.settledText = "";
    }
    const tokens: TokensList = marked.lexer(clean.slice(this.settledText.length));
    const last = tokens.findLastIndex(isShown);
    for (const token of tokens.splice(0, Math.max(0, last))) {
      this.settledText += token.raw;
      if (isShown(token)) this.settled.push(block(token));
    }
    return [...this.settled, ...tokens.filter(isShown).map(block)];
  }
}
