/** The sides of dual-model agents: labels, turns, steps and the end of runs. */

import type { DefinitionEntry, RunRecord } from "../api/types";
import type { Block, SystemBlock } from "./transcript";

export interface SideTurn {
  /** Counted from 1 per run; 0 if the beginning of the run is not loaded. */
  turn: number;
  steps: number;
}

export interface SideLabel {
  letter: "A" | "B";
  label: string;
}

/** The label of a side; null if there is only one. */
export function sideLabelOf(
  side: string,
  definition: DefinitionEntry | undefined,
): SideLabel | null {
  if (side !== "side_a" && side !== "side_b") return null;
  const letter = side === "side_a" ? "A" : "B";
  const label = definition?.sides.find(({ name }) => name === side)?.label;
  return { letter, label: label || `Side ${letter}` };
}

/** True for a reminder from the engine to one side. */
export function isReminder(block: SystemBlock): boolean {
  return block.to !== "" && block.origin === "system";
}

/** Notes that do not end a run. */
const PASSING: ReadonlySet<string> = new Set(["retrying", "switched", "withdrawn"]);

/** Counts the turns of each run and the steps of each turn, and sets the side that acted last. */
export function markRuns(blocks: readonly Block[], isCutOff: boolean): void {
  let turns = isCutOff ? Number.NaN : 0;
  let side = "";
  let sideTurn: SideTurn | null = null;
  for (const block of blocks) {
    if (block.type === "assistant" && block.side) {
      if (!sideTurn || block.side !== side) {
        turns++;
        side = block.side;
        sideTurn = { turn: turns || 0, steps: 0 };
        block.sideTurn = sideTurn;
      }
      sideTurn.steps++;
    } else if (endsRun(block)) {
      if (block.type === "run") block.side = side;
      turns = 0;
      side = "";
      sideTurn = null;
    }
  }
}

function endsRun(block: Block): boolean {
  if (block.type === "note") return !PASSING.has(block.record.code);
  return block.type === "run" || block.type === "reset";
}

/** Sets the definition of the messages before each handoff. */
export function markSpeakers(blocks: readonly Block[]): void {
  let definition = "";
  for (const block of blocks.toReversed()) {
    if (block.type === "handoff") definition = block.record.source;
    else if (block.type === "assistant") block.spokenBy = definition;
  }
}

/** A description of why a run ended. */
export function endReason(code: string, who: string): string {
  switch (code) {
    case "session_stop":
      return `Finished by ${who}`;
    case "session_fail":
      return `${who} reported a failure`;
    case "max_session_turns":
      return "Turn limit reached";
    case "max_steps":
      return `${who} reached the step limit of a turn`;
    default:
      return code.replaceAll("_", " ");
  }
}

/** The number of turns started; the record does not count an unfinished last turn. */
export function turnsOf({ code, turns = 0 }: RunRecord): number {
  return code === "max_session_turns" ? turns : turns + 1;
}
