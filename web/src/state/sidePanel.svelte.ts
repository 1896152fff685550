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

const BROWSE: Place = { mode: "browse" };

class PanelState {
  isOpen = $state(recall("panel-open", false));
  place = $state.raw<Place>(recall("panel-place", BROWSE));

  /** The items that are opened in it. */
  selected = $state.raw<readonly string[]>([]);

  private readonly listeners = new Set<Listener>();

  open(place: Place = this.place): void {
    this.place = place;
    this.selected = [];
    this.isOpen = true;
    remember("panel-open", true);
    remember("panel-place", place);
  }

  close(): void {
    this.isOpen = false;
    remember("panel-open", false);
  }

  toggle(): void {
    if (this.isOpen) this.close();
    else this.open();
  }

  /** Hear of every change from now on. */
  listen(listener: Listener): void {
    this.listeners.add(listener);
  }

  tell(event: ArtifactEvent | null): void {
    for (const listener of this.listeners) listener(event);
  }
}

export const panel = new PanelState();
