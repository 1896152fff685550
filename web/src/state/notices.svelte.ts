/** Short messages about things that were asked for and did not work, and offers. */

export interface Notice {
  id: number;
  text: string;
  /** What an offer is about: it stays until it is taken or dismissed. */
  action?: { label: string; act: () => void };
}

const SHOWN_MS = 8000;

class Notices {
  list = $state.raw<readonly Notice[]>([]);
  private next = 1;

  say(text: string): void {
    const notice = { id: this.next++, text };
    this.list = [...this.list.slice(-2), notice];
    setTimeout(() => this.dismiss(notice.id), SHOWN_MS);
  }

  /** Offer something that nobody should be interrupted with. */
  offer(text: string, label: string, act: () => void): void {
    this.list = [...this.list.slice(-2), { id: this.next++, text, action: { label, act } }];
  }

  /** Say what went wrong, in the words of the error. */
  fail(what: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.say(`${what} ${why}`);
  }

  dismiss(id: number): void {
    this.list = this.list.filter((notice) => notice.id !== id);
  }
}

export const notices = new Notices();
