/** Expanded and collapsed state, which survives scrolling out of view. */

const folds = new Map<string, boolean>();

/** Null if the user has not decided. */
export function savedDisclosure(id: string): boolean | null {
  return folds.get(id) ?? null;
}

export function saveDisclosure(id: string, isOpen: boolean): void {
  if (id) folds.set(id, isOpen);
}
