/** Who speaks where both sides are models: labels, turns, steps, and how a run ends. */

import type { DefinitionEntry, RunRecord } from "../api/shapes";
import type { Block, SystemBlock } from "./transcript";

export interface Speech {
  /** Counted from 1 in its run; 0 while the beginning of the run is not loaded. */
  turn: number;
  steps: number;
}

export interface Voice {
  letter: "A" | "B";
  label: string;
}

/** How a side is called; null when there is only one. */
export function voiceOf(side: string, definition: DefinitionEntry | undefined): Voice | null {
  if (side !== "side_a" && side !== "side_b") return null;
  const letter = side === "side_a" ? "A" : "B";
  const label = definition?.sides.find(({ name }) => name === side)?.label;
  return { letter, label: label || `Side ${letter}` };
}

/** Whether the engine told one side alone to go on. */
export function isReminder(block: SystemBlock): boolean {
  return block.to !== "" && block.origin === "system";
}

/** Notes that leave a run as it is. */
const PASSING: ReadonlySet<string> = new Set(["retrying", "switched", "withdrawn"]);

/** Count the turns of each run and the steps of each turn, and say which side acted last. */
export function markRuns(blocks: readonly Block[], isCutOff: boolean): void {
  let turns = isCutOff ? Number.NaN : 0;
  let side = "";
  let speech: Speech | null = null;
  for (const block of blocks) {
    if (block.type === "assistant" && block.side) {
      if (!speech || block.side !== side) {
        turns++;
        side = block.side;
        speech = { turn: turns || 0, steps: 0 };
        block.speech = speech;
      }
      speech.steps++;
    } else if (endsRun(block)) {
      if (block.type === "run") block.side = side;
      turns = 0;
      side = "";
      speech = null;
    }
  }
}

function endsRun(block: Block): boolean {
  if (block.type === "note") return !PASSING.has(block.record.code);
  return block.type === "run" || block.type === "reset";
}

/** Name the definition that spoke before each handoff. */
export function markSpeakers(blocks: readonly Block[]): void {
  let definition = "";
  for (const block of blocks.toReversed()) {
    if (block.type === "handoff") definition = block.record.source;
    else if (block.type === "assistant") block.spokenBy = definition;
  }
}

/** Why a run ended, in words. */
export function endWords(code: string, who: string): string {
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

/** How many turns began: the record counts those that ended, and a call or a limit cuts the last. */
export function turnsOf({ code, turns = 0 }: RunRecord): number {
  return code === "max_session_turns" ? turns : turns + 1;
}
