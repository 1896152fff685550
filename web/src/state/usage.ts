/** Formatting of tokens and cost, and the days of a period. */

import type { UsageLine } from "../api/types";

const DAY_MS = 86_400_000;

/** 0 days means all time. */
export const PERIODS: readonly { days: number; title: string }[] = [
  { days: 7, title: "Last 7 days" },
  { days: 30, title: "Last 30 days" },
  { days: 90, title: "Last 90 days" },
  { days: 0, title: "All time" },
];

type Counted = Partial<
  Pick<UsageLine, "input" | "output" | "cacheRead" | "cacheWrite" | "calls" | "cost">
>;

export function totalOf({ input = 0, output = 0, cacheRead = 0, cacheWrite = 0 }: Counted): number {
  return input + output + cacheRead + cacheWrite;
}

/** A line's share of the total, in per cent. */
export function share(line: Counted, whole: Counted): number {
  return Math.round((totalOf(line) / Math.max(1, totalOf(whole))) * 1000) / 10;
}

/** The formatted cost; empty without a price. */
export function cost({ cost: amount }: Counted, currency: string): string {
  if (amount == null) return "";
  const digits = amount > 0 && amount < 1 ? 4 : 2;
  return amount.toLocaleString(undefined, {
    style: "currency",
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
}

export function today(now = Date.now()): string {
  return new Date(now).toISOString().slice(0, 10);
}

/** The first day of a period that ends today; undefined for all time. */
export function firstDay(days: number, now = Date.now()): string | undefined {
  return days ? today(now - (days - 1) * DAY_MS) : undefined;
}

/** All days from a day to today. */
export function daysFrom(from: string, now = Date.now()): string[] {
  const count = Math.round((Date.parse(today(now)) - Date.parse(from)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(1, count) }, (_, index) =>
    today(Date.parse(from) + index * DAY_MS),
  );
}

export function dayName(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString(undefined, {
    month: "short",
    day: "numeric",
    timeZone: "UTC",
  });
}
