/** Schedules and the heartbeat, loaded and kept current while their page is open. */

import { ApiError, api } from "../api/client";
import type { HeartbeatView, ScheduleView, SlotView } from "../api/types";

export class Schedules {
  list = $state.raw<readonly ScheduleView[] | null>(null);
  heartbeat = $state.raw<HeartbeatView | null>(null);
  problem = $state("");
  /** Increases with every change, so that dependent data reloads. */
  version = $state(0);
  private watchers = 0;
  private reading = 0;

  /** Keeps the data current; returns the release function. */
  watch(): () => void {
    this.watchers++;
    void this.read();
    return () => {
      this.watchers--;
    };
  }

  /** Called when the server reports a change. */
  changed(): void {
    if (this.watchers) void this.read();
  }

  async read(): Promise<void> {
    const reading = ++this.reading;
    try {
      const [{ schedules }, heartbeat] = await Promise.all([
        api.schedules(),
        api.heartbeat().catch(nullIfNotFound),
      ]);
      if (reading !== this.reading) return; // a newer request is pending
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

/** Only the operator can see the heartbeat. */
function nullIfNotFound(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

export interface Outcome {
  label: string;
  tone: "" | "good" | "bad" | "busy";
  reason: string;
}

/** The outcome of one scheduled run. */
export function outcomeOf(slot: SlotView): Outcome {
  const reason = slot.fateReason || slot.reason || "";
  switch (slot.status) {
    case "skipped_overlap":
      return { label: "Skipped: the previous run was still active", tone: "", reason };
    case "skipped_missed":
      return { label: "Missed: the server was offline", tone: "", reason };
    case "failed":
      return { label: "Failed to start", tone: "bad", reason };
  }
  switch (slot.fate) {
    case "queued":
    case "running":
    case "waiting":
      return { label: slot.fate === "waiting" ? "Waiting" : "Running", tone: "busy", reason };
    case "failed":
    case "refused":
      return { label: "Failed", tone: "bad", reason };
    case "cancelled":
    case "expired":
      return { label: "Cancelled", tone: "", reason };
    case "answered":
      return { label: "Done", tone: "good", reason };
    default:
      return { label: "Ran", tone: "", reason };
  }
}
