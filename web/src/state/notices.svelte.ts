/** Notices (toasts) about failures, and offers. */

export interface Notice {
  id: number;
  text: string;
  /** Set for offers, which stay until accepted or dismissed. */
  action?: { label: string; act: () => void };
}

const SHOWN_MS = 8000;

class Notices {
  list = $state.raw<readonly Notice[]>([]);
  private next = 1;

  show(text: string): void {
    const notice = { id: this.next++, text };
    this.list = [...this.list.slice(-2), notice];
    setTimeout(() => this.dismiss(notice.id), SHOWN_MS);
  }

  /** Offers an action without interrupting the user. */
  offer(text: string, label: string, act: () => void): void {
    this.list = [...this.list.slice(-2), { id: this.next++, text, action: { label, act } }];
  }

  /** Shows what failed, with the error message. */
  fail(what: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.show(`${what} ${why}`);
  }

  dismiss(id: number): void {
    this.list = this.list.filter((notice) => notice.id !== id);
  }
}

export const notices = new Notices();
