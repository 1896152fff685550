/** What was opened or closed on the page: it is found so when it has been out of sight. */

const folds = new Map<string, boolean>();

/** Null when nobody chose. */
export function foldOf(id: string): boolean | null {
  return folds.get(id) ?? null;
}

export function keepFold(id: string, isOpen: boolean): void {
  if (id) folds.set(id, isOpen);
}
