/** A line diff of two texts. */

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
}

const MAX_LINES = 600;

export function diff(before: string, after: string): Line[] {
  const old = before.split("\n");
  const now = after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  ) {
    end++;
  }
  const middle = between(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const same = (lines: string[]): Line[] => lines.map((text) => ({ kind: "same", text }));
  return [
    ...same(old.slice(Math.max(0, start - 2), start)),
    ...middle,
    ...same(old.slice(old.length - end).slice(0, 2)),
  ];
}

/** The longest common subsequence; very long parts are replaced entirely. */
function between(old: string[], now: string[]): Line[] {
  const removed = (text: string): Line => ({ kind: "removed", text });
  const added = (text: string): Line => ({ kind: "added", text });
  if (old.length > MAX_LINES || now.length > MAX_LINES) {
    return [...old.map(removed), ...now.map(added)];
  }
  const lengths = old.map(() => new Uint16Array(now.length + 1));
  lengths.push(new Uint16Array(now.length + 1));
  const at = (row: number, column: number) => lengths[row]?.[column] ?? 0;
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = now.length - 1; column >= 0; column--) {
      const best =
        old[row] === now[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
      (lengths[row] as Uint16Array)[column] = best;
    }
  }
  const lines: Line[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length || column < now.length) {
    const [one, other] = [old[row], now[column]];
    if (one !== undefined && one === other) {
      lines.push({ kind: "same", text: one });
      row++;
      column++;
    } else if (
      one !== undefined &&
      (other === undefined || at(row + 1, column) >= at(row, column + 1))
    ) {
      lines.push(removed(one));
      row++;
    } else {
      lines.push(added(other ?? ""));
      column++;
    }
  }
  return lines;
}
