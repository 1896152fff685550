/** Keyboard shortcuts. */

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
      { keys: `${CONTROL} K`, what: "Command menu" },
      { keys: "/", what: "Search conversations" },
      { keys: "N", what: "New conversation" },
      { keys: "L", what: "Show or hide lists and notes" },
      { keys: `${ALT} ↑`, what: "Previous conversation" },
      { keys: `${ALT} ↓`, what: "Next conversation" },
      { keys: "?", what: "Keyboard shortcuts" },
    ],
  },
  {
    title: "In a conversation",
    entries: [
      { keys: "Enter", what: "Send message" },
      { keys: "Shift Enter", what: "New line" },
      { keys: "M", what: "Focus the message box" },
      { keys: `${CONTROL} F`, what: "Find in conversation" },
      { keys: "Esc", what: "Close the open dialog, then stop the agent" },
      { keys: "End", what: "Jump to latest message" },
    ],
  },
  {
    title: "In the sidebar",
    entries: [
      { keys: "↑ ↓", what: "Move through the list" },
      { keys: "F2", what: "Rename" },
    ],
  },
  {
    title: "In lists and notes",
    entries: [
      { keys: `${ALT} ↑`, what: "Move item up" },
      { keys: `${ALT} ↓`, what: "Move item down" },
      { keys: `${CONTROL} Enter`, what: "Save note" },
      { keys: "Esc", what: "Close the editor, then go back" },
    ],
  },
];

/** True if the key goes to a text input. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return Boolean(target?.closest("input, textarea, select, [contenteditable]"));
}

/** The key of a single-key shortcut; empty while typing or with modifiers. */
export function plainKey(event: KeyboardEvent): string {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return "";
  return isTyping(event) ? "" : event.key;
}
