/** Pagination of long results. */

const PAGE = 200;

/** The number of rows loaded at first and with each "Show more". */
export const MAX_ROWS = 500;

/** The first rows and the total. */
export interface Part<T> {
  rows: readonly T[];
  total: number;
}

type Ask = (page: { limit: number; offset: number }) => Promise<Record<string, unknown>>;

/** Loads pages until there are `most` rows or no more. */
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
