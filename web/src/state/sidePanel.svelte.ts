/** The state of the side panel for lists, notes and views. */

import type { ArtifactEvent } from "../api/types";
import { loadValue, storeValue } from "./storage";

export type PanelRoute =
  | { mode: "browse" }
  | { mode: "list"; id: string }
  | { mode: "note"; id: string }
  /** Null for an unsaved query. */
  | { mode: "view"; id: string | null };

/** Receives a change, or null if anything may have changed. */
type Listener = (event: ArtifactEvent | null) => void;

/** Below this width, the panel covers the conversation. */
export const PANEL_OVERLAY_QUERY = "(max-width: 62rem)";

const BROWSE: PanelRoute = { mode: "browse" };

class PanelState {
  isOpen = $state(loadValue("panel-open", false));
  route = $state.raw<PanelRoute>(loadValue("panel-place", BROWSE));

  /** The expanded items. */
  selected = $state.raw<readonly string[]>([]);

  private readonly listeners = new Set<Listener>();
  private writers = 0;
  private wantsFocus = false;

  open(route: PanelRoute = this.route): void {
    this.route = route;
    this.selected = [];
    this.isOpen = true;
    storeValue("panel-open", true);
    storeValue("panel-place", route);
  }

  close(): void {
    this.isOpen = false;
    this.wantsFocus = false;
    storeValue("panel-open", false);
  }

  toggle(): void {
    if (this.isOpen) this.close();
    else this.open();
  }

  /** Toggles the panel and requests the focus for it. */
  toggleFromKeyboard(): void {
    this.toggle();
    this.wantsFocus = this.isOpen;
  }

  /** Consumes the focus request. */
  takeFocusRequest(): boolean {
    const isAwaited = this.wantsFocus;
    this.wantsFocus = false;
    return isAwaited;
  }

  /** Prevents agents from replacing the content during editing; returns the release function. */
  lock(): () => void {
    this.writers++;
    return () => this.writers--;
  }

  /** Opens something for an agent; false if the user is editing. */
  requestOpen(route: PanelRoute): boolean {
    if (this.isOpen && isSame(route, this.route)) return true;
    if (this.isOpen ? this.writers > 0 : matchMedia(PANEL_OVERLAY_QUERY).matches && isTyping())
      return false;
    this.open(route);
    return true;
  }

  /** Subscribes to changes. */
  subscribe(listener: Listener): void {
    this.listeners.add(listener);
  }

  notify(event: ArtifactEvent | null): void {
    for (const listener of this.listeners) listener(event);
  }
}

function isSame(one: PanelRoute, other: PanelRoute): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isTyping(): boolean {
  const { activeElement } = document;
  return activeElement instanceof HTMLTextAreaElement && activeElement.value.trim() !== "";
}

export const panel = new PanelState();
