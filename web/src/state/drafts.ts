/** What is being written, per conversation; it outlives the page. */

import { freshKey, recall, remember } from "./keep";

export interface Attachment {
  name: string;
  path: string;
  size: number;
}

export interface Draft {
  text: string;
  attachments: Attachment[];
  /** Under which key it was sent; kept until the server acknowledged it, so a retry doubles nothing. */
  key: string;
  /** The line before it, as it was when it was first sent: a retry must be the same message. */
  context?: string;
}

export function emptyDraft(): Draft {
  return { text: "", attachments: [], key: freshKey() };
}

export function loadDraft(agentId: string): Draft {
  return recall<Draft | null>(`draft:${agentId}`, null) ?? emptyDraft();
}

export function saveDraft(agentId: string, draft: Draft): void {
  const isEmpty = !draft.text && draft.attachments.length === 0;
  remember(`draft:${agentId}`, isEmpty ? undefined : draft);
}

export function forgetDraft(agentId: string): void {
  remember(`draft:${agentId}`, undefined);
}
