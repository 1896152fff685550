/** Message drafts per conversation; they survive a reload. */

import { loadValue, newKey, storeValue } from "./storage";

export interface Attachment {
  name: string;
  path: string;
  size: number;
}

export interface MessageDraft {
  text: string;
  attachments: Attachment[];
  /** The idempotency key, kept until the server acknowledges the message. */
  key: string;
  /** The context line of the first attempt: a retry must be identical. */
  context?: string;
}

export function emptyDraft(): MessageDraft {
  return { text: "", attachments: [], key: newKey() };
}

export function loadDraft(agentId: string): MessageDraft {
  return loadValue<MessageDraft | null>(`draft:${agentId}`, null) ?? emptyDraft();
}

export function saveDraft(agentId: string, draft: MessageDraft): void {
  const isEmpty = !draft.text && draft.attachments.length === 0;
  storeValue(`draft:${agentId}`, isEmpty ? undefined : draft);
}

export function forgetDraft(agentId: string): void {
  storeValue(`draft:${agentId}`, undefined);
}
