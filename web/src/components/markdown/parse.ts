/** Markdown to HTML, cut into top-level blocks so that a growing text renders only its last one anew. */

import { Marked, type Token, type Tokens, type TokensList } from "marked";

export interface MarkdownBlock {
  html: string;
  /** Whether the list of the block before it goes on here. */
  continues: boolean;
  /** Code that is still being written, instead of HTML. */
  code?: { language: string; text: string };
  /** The first rows of a table that grew, as tables with the same head: the last rows are the HTML. */
  earlier?: readonly string[];
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
const block = (token: Token, continues = false): MarkdownBlock => ({
  html: marked.parser([token]),
  continues,
});

export function parseBlocks(text: string): MarkdownBlock[] {
  const tokens: TokensList = marked.lexer(text);
  return tokens.filter(isShown).map((token) => block(token));
}

/** So many points of a list that still grows are looked at again with each word. */
const OPEN_POINTS = 8;

/** So many rows of a table that still grows are drawn anew with each word. */
const OPEN_ROWS = 8;

/** HTML inside a cell that ends the cell, its row or its table. */
const TABLE_TAG = /<\/?t/i;

/** The rows of a table that are settled, and what the lexer needs to go on after them. */
interface SettledRows {
  head: string;
  start: number;
  earlier: readonly string[];
}

/** A text that grows at its end: every block but the last is parsed once, and so are most points and rows. */
export class GrowingText {
  private settled: MarkdownBlock[] = [];
  private settledText = "";
  /** Whether the text after the settled part begins inside a list. */
  private isInList = false;
  /** The rows before the text after the settled part, when that begins inside a table. */
  private rows: SettledRows | null = null;

  blocks(text: string): MarkdownBlock[] {
    const clean = text.replace(/\r\n?/g, "\n");
    if (!clean.startsWith(this.settledText)) {
      this.settled = [];
      this.settledText = "";
      this.isInList = false;
      this.rows = null;
    }
    let tokens = this.lex(clean);
    if (this.rows && TABLE_TAG.test(tokens[0]?.raw ?? "")) {
      this.settledText = this.settledText.slice(0, this.rows.start);
      this.rows = null;
      tokens = this.lex(clean);
    }
    const last = tokens.findLastIndex(isShown);
    for (const token of tokens.splice(0, Math.max(0, last))) this.settle(token);
    const growing = tokens.find(isShown);
    if (growing?.type === "list") this.settlePoints(growing as Tokens.List);
    if (growing?.type === "table") this.settleRows(growing as Tokens.Table);
    const open = tokens.filter(isShown).map((token) => this.open(token));
    return [...this.settled, ...open];
  }

  private lex(clean: string): TokensList {
    return marked.lexer((this.rows?.head ?? "") + clean.slice(this.settledText.length));
  }

  private open(token: Token): MarkdownBlock {
    if (token.type !== "code") return this.block(token);
    const { lang, text } = token as Tokens.Code;
    const language = /^\S*/.exec(lang ?? "")?.[0] ?? "";
    return { html: "", continues: this.isInList, code: { language, text } };
  }

  private block(token: Token): MarkdownBlock {
    const made = block(token, this.isInList);
    return this.rows ? { ...made, earlier: this.rows.earlier } : made;
  }

  private settle(token: Token): void {
    this.settledText += token.raw.slice(this.rows?.head.length ?? 0);
    if (!isShown(token)) return;
    this.settled.push(this.block(token));
    this.isInList = false;
    this.rows = null;
  }

  /** Take the first points out of a list: what follows them cannot change them. */
  private settlePoints(list: Tokens.List): void {
    if (list.items.length < 2 * OPEN_POINTS) return;
    const items = list.items.splice(0, list.items.length - OPEN_POINTS);
    const raw = items.map((item) => item.raw).join("");
    if (!list.raw.startsWith(raw)) return;
    this.settle({ ...list, items, raw });
    this.isInList = true;
    list.raw = list.raw.slice(raw.length);
    if (list.ordered) list.start = Number(list.start) + items.length;
  }
  /** Take the first rows out of a table: each is a line, and the lines after it cannot change it. */
  private settleRows(table: Tokens.Table): void {
    if (table.rows.length < 2 * OPEN_ROWS || TABLE_TAG.test(table.raw)) return;
    const rows = table.rows.splice(0, table.rows.length - OPEN_ROWS);
    const lines = table.raw.split(/(?<=\n)/);
    const head = lines.slice(0, 2).join("");
    const start = this.rows?.start ?? this.settledText.length;
    const html = marked.parser([{ ...table, rows }]);
    this.settledText += lines.slice(this.rows ? 2 : 0, 2 + rows.length).join("");
    this.rows = { head, start, earlier: [...(this.rows?.earlier ?? []), html] };
  }
}
