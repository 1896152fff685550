/** Row positions of a virtual list. */

export interface Range {
  start: number;
  /** Exclusive. */
  end: number;
}

export interface Row {
  index: number;
  /** The height of the omitted rows before it. */
  gap: number;
}

const FIRST_GUESS = 96;

/** The top of each row, and the bottom of the last; unmeasured rows get the average height. */
export function offsets(
  keys: readonly { key: string }[],
  heights: ReadonlyMap<string, number>,
): Float64Array {
  let known = 0;
  for (const height of heights.values()) known += height;
  const guess = heights.size ? known / heights.size : FIRST_GUESS;
  const tops = new Float64Array(keys.length + 1);
  keys.forEach(({ key }, index) => {
    tops[index + 1] = (tops[index] ?? 0) + (heights.get(key) ?? guess);
  });
  return tops;
}

/** The row at a vertical position. */
export function rowAt(tops: Float64Array, y: number): number {
  let low = 0;
  let high = tops.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/** The rows that intersect the viewport, with a margin on both sides. */
export function windowOf(
  tops: Float64Array,
  view: { top: number; height: number },
  margin: number,
): Range {
  const count = tops.length - 1;
  const total = tops[count] ?? 0;
  const top = Math.max(0, Math.min(view.top, total - view.height));
  return {
    start: rowAt(tops, top - margin),
    end: Math.min(count, rowAt(tops, top + view.height + margin) + 1),
  };
}

/** All rows of these ranges in order, each with the gap before it. */
export function rowsOf(tops: Float64Array, ranges: readonly Range[]): Row[] {
  const rows: Row[] = [];
  let next = 0;
  for (const { start, end } of [...ranges].sort((one, other) => one.start - other.start)) {
    for (let index = Math.max(next, start); index < end; index++) {
      rows.push({ index, gap: (tops[index] ?? 0) - (tops[next] ?? 0) });
      next = index + 1;
    }
  }
  return rows;
}
