/** Formatting of times, sizes and counts. */

const clockTime = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const fullDate = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  year: "numeric",
});
const precise = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** The time for today, the day for this year, else the date. */
export function shortTime(iso: string, now = new Date()): string {
  const at = new Date(iso);
  if (at.toDateString() === now.toDateString()) return clockTime.format(at);
  return (at.getFullYear() === now.getFullYear() ? dayAndMonth : fullDate).format(at);
}

export function preciseTime(iso: string): string {
  return precise.format(new Date(iso));
}

/** The local time in a zone; in the browser's zone if it is unknown. */
export function timeIn(iso: string, timeZone: string): string {
  try {
    const there = { dateStyle: "medium", timeStyle: "short", timeZone } as const;
    return new Intl.DateTimeFormat(undefined, there).format(new Date(iso));
  } catch {
    return preciseTime(iso);
  }
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

/** Relative to now: “in 5 min.”, “2 hr. ago”. */
export function relativeTime(iso: string, now: number): string {
  const distance = Date.parse(iso) - now;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(distance) >= size) ?? ["second", 1000];
  return relative.format(Math.round(distance / size), unit);
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A recurring interval: “30 minutes”, “2 hours”. */
export function interval(seconds: number): string {
  const units: [number, string][] = [
    [86_400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ];
  const [size, unit] = units.find(([size]) => seconds % size === 0) ?? [1, "second"];
  return seconds === size ? unit : plural(seconds / size, unit);
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A compact number: 950, 12.3K, 1.2M. */
export function count(value: number): string {
  return value.toLocaleString(undefined, { notation: "compact", maximumFractionDigits: 1 });
}

export function capitalised(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`;
}

/** Turns a third-party message into a sentence. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const begun = capitalised(trimmed);
  return !begun || /[.!?…:)\]"'`]$/.test(begun) ? begun : `${begun}.`;
}
