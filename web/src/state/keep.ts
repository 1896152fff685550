/** Small things that this browser remembers by itself. */

const PREFIX = "retinue:";

/** Where it is remembered: asking may fail where a browser forbids it. */
type Store = () => Storage;
const here: Store = () => localStorage;

export function recall<T>(name: string, fallback: T, store = here): T {
  try {
    const text = store().getItem(PREFIX + name);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

/** Remember a value; `undefined` forgets it. A full or forbidden storage costs only the memory. */
export function remember(name: string, value: unknown, store = here): void {
  try {
    if (value === undefined) store().removeItem(PREFIX + name);
    else store().setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    return;
  }
}

/** Call back when another window of this browser remembered something under this name. */
export function onRemembered(name: string, listener: () => void): void {
  window.addEventListener("storage", (event) => {
    if (event.key === PREFIX + name) listener();
  });
}

/** A key that no other message has. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, "0")).join("");
}
