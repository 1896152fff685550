/** Which agent sent this window to which other one: the way back, also after a reload. */

import { recall, remember } from "./keep";

const NAME = "came-from";
const inThisWindow = () => sessionStorage;

export class Switches {
  /** By the agent that the person is at now: the agent that they left. */
  private homes = $state.raw<Readonly<Record<string, string>>>(recall(NAME, {}, inThisWindow));

  homeOf(agentId: string): string | undefined {
    return this.homes[agentId];
  }

  /** The person was sent on. Whoever is sent back where they came from has no way back to keep. */
  note(to: string, from: string): void {
    const { [from]: before, ...others } = this.homes;
    this.keep(before === to ? others : { ...this.homes, [to]: from });
  }

  /** The person goes back: gives where to, once. */
  takeBack(agentId: string): string | undefined {
    const { [agentId]: home, ...rest } = this.homes;
    if (home) this.keep(rest);
    return home;
  }

  forget(agentId: string): void {
    const kept = Object.entries(this.homes).filter((pair) => !pair.includes(agentId));
    if (kept.length < Object.keys(this.homes).length) this.keep(Object.fromEntries(kept));
  }

  private keep(homes: Readonly<Record<string, string>>): void {
    this.homes = homes;
    remember(NAME, homes, inThisWindow);
  }
}
