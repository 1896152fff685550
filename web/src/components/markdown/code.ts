/** Code blocks: a bar with the language and a copy button, highlighted once complete. */

import DOMPurify from "dompurify";

const purifier = DOMPurify(window);

export function languageOf(code: Element): string {
  const name = [...code.classList].find((entry) => entry.startsWith("language-"));
  return name?.slice("language-".length).toLowerCase() ?? "";
}

export function decorateCode(root: ParentNode, isComplete: boolean): void {
  for (const pre of root.querySelectorAll("pre")) {
    const code = pre.querySelector("code") ?? pre;
    const language = languageOf(code);
    const figure = figureOf(code, language);
    pre.replaceWith(figure);
    pre.tabIndex = 0;
    figure.append(pre);
    if (isComplete && language) void highlightCode(code, language);
  }
}

function figureOf(code: Element, language: string): HTMLElement {
  const figure = document.createElement("div");
  figure.className = "code-block";
  figure.append(bar(language, () => code.textContent ?? ""));
  return figure;
}

/** The number of characters that are laid out again with each update. */
const CHUNK = 4000;

/** Streaming code: appends new text and lays out only the last lines again. */
export class StreamingCode {
  private readonly code = document.createElement("code");
  private tail = this.begin("");
  private text = "";

  constructor(
    node: HTMLElement,
    readonly language: string,
  ) {
    const pre = document.createElement("pre");
    pre.tabIndex = 0;
    pre.append(this.code);
    const figure = figureOf(this.code, language);
    figure.append(pre);
    node.replaceChildren(figure);
  }

  /** Shows the text; false if it does not continue the previous text. */
  write(text: string): boolean {
    if (!text.startsWith(this.text)) return false;
    this.tail.appendData(text.slice(this.text.length));
    this.text = text;
    const end = this.tail.data.lastIndexOf("\n") + 1;
    if (end > CHUNK) {
      const rest = this.tail.data.slice(end);
      this.tail.deleteData(end, rest.length);
      this.tail = this.begin(rest);
    }
    return true;
  }

  private begin(text: string): Text {
    const lines = document.createElement("span");
    lines.className = "lines";
    const node = document.createTextNode(text);
    lines.append(node);
    this.code.append(lines);
    return node;
  }
}

function bar(language: string, text: () => string): HTMLElement {
  const element = document.createElement("div");
  element.className = "code-bar";
  const label = document.createElement("span");
  label.textContent = language || "text";
  element.append(label, copyButton(text));
  return element;
}

export function copyButton(text: () => string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text())) ? "Copied" : "Couldn’t copy";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1600);
  });
  return button;
}

/** Copies text; browsers refuse this over plain HTTP from another machine. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

async function highlightCode(code: Element, language: string): Promise<void> {
  const { highlight } = await import("./highlight");
  const html = highlight(code.textContent ?? "", language);
  if (html === null) return;
  const spans = purifier.sanitize(html, {
    ALLOWED_TAGS: ["span"],
    ALLOWED_ATTR: ["class"],
    RETURN_DOM_FRAGMENT: true,
  });
  code.replaceChildren(spans);
}
