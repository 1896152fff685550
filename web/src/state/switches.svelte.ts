/** Switches between agents in this window, with the way back; survives a reload. */

import { loadValue, storeValue } from "./storage";

const NAME = "came-from";
const inThisWindow = () => sessionStorage;

export class Switches {
  /** The previous agent by current agent. */
  private origins = $state.raw<Readonly<Record<string, string>>>(loadValue(NAME, {}, inThisWindow));

  originOf(agentId: string): string | undefined {
    return this.origins[agentId];
  }

  /** Records a switch; switching back to the previous agent removes its entry. */
  note(to: string, from: string): void {
    const { [from]: before, ...others } = this.origins;
    this.keep(before === to ? others : { ...this.origins, [to]: from });
  }

  /** Returns the previous agent and removes the entry. */
  takeOrigin(agentId: string): string | undefined {
    const { [agentId]: home, ...rest } = this.origins;
    if (home) this.keep(rest);
    return home;
  }

  forget(agentId: string): void {
    const kept = Object.entries(this.origins).filter((pair) => !pair.includes(agentId));
    if (kept.length < Object.keys(this.origins).length) this.keep(Object.fromEntries(kept));
  }

  private keep(origins: Readonly<Record<string, string>>): void {
    this.origins = origins;
    storeValue(NAME, origins, inThisWindow);
  }
}
