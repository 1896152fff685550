/** What lies over the page: one thing at a time, opened from anywhere. */

/** What the open conversation can do by itself, for those who ask it from elsewhere. */
export interface Here {
  rename: () => void;
  find: () => void;
}

export type OverlayName = "palette" | "shortcuts";

class Overlay {
  current = $state<OverlayName | null>(null);
  here = $state.raw<Here | null>(null);

  open(name: OverlayName): void {
    this.current = name;
  }

  close(): void {
    this.current = null;
  }
}

export const overlay = new Overlay();

/** Whether a dialog or a menu lies over the page: keys are meant for that. */
export function isCovered(): boolean {
  return document.querySelector("dialog[open], :popover-open") !== null;
}
