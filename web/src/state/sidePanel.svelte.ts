/** Whether the artifacts lie beside the conversation, and what of them is open. */

import type { ArtifactEvent } from "../api/shapes";
import { recall, remember } from "./keep";

export type Place =
  | { mode: "browse" }
  | { mode: "list"; id: string }
  | { mode: "note"; id: string }
  /** Null for a query that was not kept. */
  | { mode: "view"; id: string | null };

/** Told of a change; of null when anything may have changed. */
type Listener = (event: ArtifactEvent | null) => void;

/** Where a conversation and the artifacts do not fit side by side: they cover it. */
export const CRAMPED = "(max-width: 62rem)";

const BROWSE: Place = { mode: "browse" };

class PanelState {
  isOpen = $state(recall("panel-open", false));
  place = $state.raw<Place>(recall("panel-place", BROWSE));

  /** The items that are opened in it. */
  selected = $state.raw<readonly string[]>([]);

  private readonly listeners = new Set<Listener>();
  private writers = 0;
  private isSummoned = false;

  open(place: Place = this.place): void {
    this.place = place;
    this.selected = [];
    this.isOpen = true;
    remember("panel-open", true);
    remember("panel-place", place);
  }

  close(): void {
    this.isOpen = false;
    this.isSummoned = false;
    remember("panel-open", false);
  }

  toggle(): void {
    if (this.isOpen) this.close();
    else this.open();
  }

  /** Open or close it from the keyboard, which then goes on in it. */
  summon(): void {
    this.toggle();
    this.isSummoned = this.isOpen;
  }

  /** Whether the focus goes to what was just opened; asked once. */
  takesFocus(): boolean {
    const isAwaited = this.isSummoned;
    this.isSummoned = false;
    return isAwaited;
  }

  /** Something is being written here: until this ends, nothing takes its place unasked. */
  hold(): () => void {
    this.writers++;
    return () => this.writers--;
  }

  /** Open what somebody else wants to be seen; false where the person is writing just there. */
  visit(place: Place): boolean {
    if (this.isOpen && isSame(place, this.place)) return true;
    if (this.isOpen ? this.writers > 0 : matchMedia(CRAMPED).matches && isTyping()) return false;
    this.open(place);
    return true;
  }

  /** Hear of every change from now on. */
  listen(listener: Listener): void {
    this.listeners.add(listener);
  }

  tell(event: ArtifactEvent | null): void {
    for (const listener of this.listeners) listener(event);
  }
}

function isSame(one: Place, other: Place): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isTyping(): boolean {
  const { activeElement } = document;
  return activeElement instanceof HTMLTextAreaElement && activeElement.value.trim() !== "";
}

export const panel = new PanelState();
