/** A streaming table: complete rows stay and new rows are appended. */

export class StreamingTable {
  private readonly table: Element | null;
  private last: Element | null;
  private earlier: readonly string[];

  constructor(
    node: HTMLElement,
    earlier: readonly string[],
    html: string,
    private readonly draw: (html: string) => DocumentFragment,
  ) {
    const first = draw(earlier[0] ?? html);
    this.table = first.querySelector("table");
    this.last = null;
    this.earlier = earlier.slice(0, 1);
    node.replaceChildren(first);
    this.write(earlier, html);
  }

  /** Shows the rows; false if they belong to another table. */
  write(earlier: readonly string[], html: string): boolean {
    if (this.earlier.some((rows, index) => rows !== earlier[index])) return false;
    this.last?.remove();
    for (const rows of earlier.slice(this.earlier.length)) this.add(rows);
    this.earlier = earlier;
    this.last = this.add(html);
    return true;
  }

  private add(html: string): Element | null {
    const body = this.draw(html).querySelector("tbody");
    if (body) this.table?.append(body);
    return body;
  }
}
