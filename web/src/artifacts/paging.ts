/** Long answers by parts: so much as somebody wants to see, and how much there is. */

const PAGE = 200;

/** So many rows are shown at once; whoever wants more asks for them. */
export const MOST_ROWS = 500;

/** The first rows, and how many there are. */
export interface Part<T> {
  rows: readonly T[];
  total: number;
}

type Ask = (page: { limit: number; offset: number }) => Promise<Record<string, unknown>>;

/** Ask for page after page until there are `most` rows, or no more. */
export async function firstOf<T>(ask: Ask, name: string, most: number): Promise<Part<T>> {
  const rows: T[] = [];
  for (;;) {
    const limit = Math.min(PAGE, most - rows.length);
    const page = await ask({ limit, offset: rows.length });
    const found = (page[name] ?? []) as T[];
    rows.push(...found);
    if (!page.more || !found.length || rows.length >= most) {
      return { rows, total: Math.max(rows.length, Number(page.total ?? 0)) };
    }
  }
}
