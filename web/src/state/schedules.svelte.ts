/** Schedules and the heartbeat: read while their page is open, and again when they change. */

import { ApiError, api } from "../api/client";
import type { HeartbeatView, ScheduleView, SlotView } from "../api/shapes";

export class Schedules {
  list = $state.raw<readonly ScheduleView[] | null>(null);
  heartbeat = $state.raw<HeartbeatView | null>(null);
  problem = $state("");
  /** Grows with every change: what else was read is old then. */
  version = $state(0);
  private watchers = 0;
  private reading = 0;

  /** Keep it current while a page shows it; gives the undo. */
  watch(): () => void {
    this.watchers++;
    void this.read();
    return () => {
      this.watchers--;
    };
  }

  /** The server says that something changed. */
  changed(): void {
    if (this.watchers) void this.read();
  }

  async read(): Promise<void> {
    const reading = ++this.reading;
    try {
      const [{ schedules }, heartbeat] = await Promise.all([
        api.schedules(),
        api.heartbeat().catch(noneForThem),
      ]);
      if (reading !== this.reading) return; // a later answer is on its way
      this.list = schedules;
      this.heartbeat = heartbeat;
      this.problem = "";
      this.version++;
    } catch (error) {
      if (reading === this.reading) {
        this.problem = error instanceof Error ? error.message : String(error);
      }
    }
  }
}

/** The heartbeat is the operator's: others have none. */
function noneForThem(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

export interface Outcome {
  word: string;
  tone: "" | "good" | "bad" | "busy";
  reason: string;
}

/** What became of one time of a schedule. */
export function outcomeOf(slot: SlotView): Outcome {
  const reason = slot.fateReason || slot.reason || "";
  switch (slot.status) {
    case "skipped_overlap":
      return { word: "Skipped: the previous run was still active", tone: "", reason };
    case "skipped_missed":
      return { word: "Missed: the server was offline", tone: "", reason };
    case "failed":
      return { word: "Failed to start", tone: "bad", reason };
  }
  switch (slot.fate) {
    case "queued":
    case "running":
    case "waiting":
      return { word: slot.fate === "waiting" ? "Waiting" : "Running", tone: "busy", reason };
    case "failed":
    case "refused":
      return { word: "Failed", tone: "bad", reason };
    case "cancelled":
    case "expired":
      return { word: "Cancelled", tone: "", reason };
    case "answered":
      return { word: "Done", tone: "good", reason };
    default:
      return { word: "Ran", tone: "", reason };
  }
}
