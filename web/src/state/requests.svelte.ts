/** Requests from agents, pending in all windows until decided in one. */

import { ApiError, api } from "../api/client";
import type { RequestView, Verdict } from "../api/types";

const PAGE = 50;

const callKey = (agentId: string, call: string) => `${agentId} ${call}`;

export class Requests {
  private known = $state.raw<ReadonlyMap<string, RequestView>>(new Map());
  /** The cursor of older requests; null at the end. */
  private next = $state.raw<string | null | undefined>(undefined);
  readonly hasOlder = $derived(this.next !== null);

  /** Oldest first. */
  readonly pending = $derived(
    [...this.known.values()].filter(({ status }) => status === "pending").sort(oldestFirst),
  );
  readonly decided = $derived(
    [...this.known.values()]
      .filter(({ status }) => status !== "pending")
      .sort((one, other) => -oldestFirst(one, other)),
  );
  private readonly byCall = $derived(
    new Map(
      [...this.known.values()]
        .sort(oldestFirst)
        .map((request) => [callKey(request.agentId, request.call), request]),
    ),
  );

  ofCall(agentId: string, call: string): RequestView | undefined {
    return this.byCall.get(callKey(agentId, call));
  }

  /** Adds requests; a decided request never becomes pending again. */
  put(...requests: readonly RequestView[]): void {
    const next = new Map(this.known);
    for (const request of requests) {
      const before = next.get(request.id);
      if (before && before.status !== "pending" && request.status === "pending") continue;
      next.set(request.id, request);
    }
    this.known = next;
  }

  /** Reloads pending requests; decided ones are loaded on demand. */
  async refresh(): Promise<void> {
    const { requests } = await api.requests({ status: "pending" });
    this.known = new Map(requests.map((request) => [request.id, request]));
    this.next = undefined;
  }

  /** Loads an agent's requests, for the cards in its conversation. */
  async readOf(agentId: string): Promise<void> {
    const { requests } = await api.requests({ agent: agentId, limit: PAGE });
    this.put(...requests);
  }

  async readDecided(): Promise<void> {
    const { requests, nextBefore } = await api.requests({ limit: PAGE, before: this.next });
    this.next = nextBefore;
    this.put(...requests);
  }

  /** Sends a decision; if it was already decided elsewhere, loads that decision and throws. */
  async decide(request: RequestView, decision: Verdict): Promise<void> {
    try {
      this.put(await api.decide(request.id, decision));
    } catch (error) {
      if (error instanceof ApiError && (error.status === 409 || error.status === 410)) {
        await api.request(request.id).then(
          (truth) => this.put(truth),
          () => undefined,
        );
      }
      throw error;
    }
  }

  forget(agentId: string): void {
    this.known = new Map([...this.known].filter(([, request]) => request.agentId !== agentId));
  }
}

function oldestFirst(one: RequestView, other: RequestView): number {
  return one.createdAt.localeCompare(other.createdAt) || one.id.localeCompare(other.id);
}
