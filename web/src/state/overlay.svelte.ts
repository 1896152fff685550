/** The open overlay; only one at a time. */

/** Actions of the open conversation, for the command menu. */
export interface ConversationActions {
  rename: () => void;
  find: () => void;
}

export type OverlayName = "commandMenu" | "shortcuts";

class Overlay {
  current = $state<OverlayName | null>(null);
  conversation = $state.raw<ConversationActions | null>(null);

  open(name: OverlayName): void {
    this.current = name;
  }

  close(): void {
    this.current = null;
  }
}

export const overlay = new Overlay();

/** True while a dialog or menu is open and receives keys. */
export function isCovered(): boolean {
  return document.querySelector("dialog[open], :popover-open") !== null;
}
