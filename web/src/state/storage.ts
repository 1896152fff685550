/** Values in the browser's storage. */

const PREFIX = "retinue:";

/** A function, because access throws if the browser forbids it. */
type Store = () => Storage;
const here: Store = () => localStorage;

export function loadValue<T>(name: string, fallback: T, store = here): T {
  try {
    const text = store().getItem(PREFIX + name);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

/** Stores a value; `undefined` removes it. Storage errors are ignored. */
export function storeValue(name: string, value: unknown, store = here): void {
  try {
    if (value === undefined) store().removeItem(PREFIX + name);
    else store().setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    return;
  }
}

/** Calls `listener` when another window stores a value under this name. */
export function onStoredValue(name: string, listener: () => void): void {
  window.addEventListener("storage", (event) => {
    if (event.key === PREFIX + name) listener();
  });
}

/** A unique key. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, "0")).join("");
}
