/** Markdown to HTML in top-level blocks, so that streaming text renders only its last block again. */

import { Marked, type Token, type Tokens, type TokensList } from "marked";

export interface MarkdownBlock {
  html: string;
  /** True if this continues the list of the previous block. */
  continues: boolean;
  /** Streaming code, instead of HTML. */
  code?: { language: string; text: string };
  /** Earlier rows of a streaming table, as tables with the same header; `html` has the last rows. */
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

/** HTML inside Markdown: keeps plain tags and escapes everything else. */
function plainHtml(html: string): string {
  return html
    .replace(COMMENT, "")
    .replace(TAG, (tag) => (PLAIN_TAG.test(tag) ? tag : escaped(tag)));
}

const marked = new Marked({
  gfm: true,
  renderer: {
    // No form elements: checkboxes are characters.
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

/** The number of items of a streaming list that are parsed again with each update. */
const OPEN_ITEMS = 8;

/** The number of rows of a streaming table that are drawn again with each update. */
const OPEN_ROWS = 8;

/** HTML inside a cell that closes the cell, its row or its table. */
const TABLE_TAG = /<\/?t/i;

/** The settled rows of a table, and what the lexer needs to continue after them. */
interface SettledRows {
  head: string;
  start: number;
  earlier: readonly string[];
}

/** Streaming text: parses every block but the last only once, and most list items and rows too. */
export class StreamingText {
  private settled: MarkdownBlock[] = [];
  private settledText = "";
  /** True if the unsettled text starts inside a list. */
  private isInList = false;
  /** The settled rows, if the unsettled text starts inside a table. */
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
    if (growing?.type === "list") this.settleItems(growing as Tokens.List);
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

  /** Settles the first items of a list, which later text cannot change. */
  private settleItems(list: Tokens.List): void {
    if (list.items.length < 2 * OPEN_ITEMS) return;
    const items = list.items.splice(0, list.items.length - OPEN_ITEMS);
    const raw = items.map((item) => item.raw).join("");
    if (!list.raw.startsWith(raw)) return;
    this.settle({ ...list, items, raw });
    this.isInList = true;
    list.raw = list.raw.slice(raw.length);
    if (list.ordered) list.start = Number(list.start) + items.length;
  }
  /** Settles the first rows of a table, which later lines cannot change. */
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
