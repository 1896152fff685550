/** What the keyboard does, written once: the help lists it, and the window listens for it. */

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

export const CONTROL = isMac ? "⌘" : "Ctrl";
export const ALT = isMac ? "⌥" : "Alt";

export interface Shortcut {
  keys: string;
  what: string;
}

export const SHORTCUTS: readonly { title: string; entries: readonly Shortcut[] }[] = [
  {
    title: "Anywhere",
    entries: [
      { keys: `${CONTROL} K`, what: "Go to, find or do anything" },
      { keys: "/", what: "Search the conversations" },
      { keys: "N", what: "New conversation" },
      { keys: "L", what: "Lists and notes beside the conversation" },
      { keys: `${ALT} ↑`, what: "The conversation above in the list" },
      { keys: `${ALT} ↓`, what: "The conversation below in the list" },
      { keys: "?", what: "This list" },
    ],
  },
  {
    title: "In a conversation",
    entries: [
      { keys: "Enter", what: "Send the message" },
      { keys: "Shift Enter", what: "A new line" },
      { keys: "M", what: "Write a message" },
      { keys: `${CONTROL} F`, what: "Find in the conversation" },
      { keys: "Esc", what: "Close what lies on top; then stop the work" },
      { keys: "End", what: "Jump to the end, with the focus on what was said" },
    ],
  },
  {
    title: "In the list of conversations",
    entries: [
      { keys: "↑ ↓", what: "Walk through the list" },
      { keys: "F2", what: "Rename" },
    ],
  },
  {
    title: "In lists and notes",
    entries: [
      { keys: `${ALT} ↑`, what: "Move the item up" },
      { keys: `${ALT} ↓`, what: "Move the item down" },
      { keys: `${CONTROL} Enter`, what: "Save the note" },
      { keys: "Esc", what: "Close the editor; then go back" },
    ],
  },
];

/** Whether keys that are pressed now are meant for a text. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return Boolean(target?.closest("input, textarea, select, [contenteditable]"));
}

/** The name of a shortcut that a single key stands for, when nobody is typing. */
export function plainKey(event: KeyboardEvent): string {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return "";
  return isTyping(event) ? "" : event.key;
}
