import { expect, test } from "vitest";
import { cronDescription } from "../src/state/cron";

test.each([
  ["0 8 * * *", "every day at 08:00"],
  ["0 8 * * MON-FRI", "weekdays at 08:00"],
  ["30 9 * * 1-5", "weekdays at 09:30"],
  ["0 10 * * sat,sun", "weekends at 10:00"],
  ["0 18 * * 1,4", "Mondays and Thursdays at 18:00"],
  ["0 18 * * 7", "Sundays at 18:00"],
  ["0 8,12,18 * * *", "every day at 08:00, 12:00 and 18:00"],
  ["* * * * *", "every minute"],
  ["*/15 * * * *", "every 15 minutes"],
  ["*/15 * * * MON-FRI", "every 15 minutes, weekdays"],
  ["5 * * * *", "every hour at 5 past"],
  ["0 */2 * * *", "every 2 hours"],
  ["0 7 1 * *", "on day 1 of every month at 07:00"],
  ["0 7 L * *", "on the last day of every month at 07:00"],
  ["0 7 24,25 DEC *", "on days 24 and 25 of December at 07:00"],
])("%s is %s", (line, words) => {
  expect(cronDescription(line)).toBe(words);
});

test.each([
  "",
  "0 8 * *",
  "60 8 * * *",
  "0 24 * * *",
  "0 8 * * * *",
  "0 8 1 * MON",
  "0 8-10 * * *",
  "x y z a b",
  "0 8 * * FRI-MON",
])("%j has no simple words", (line) => {
  expect(cronDescription(line)).toBe("");
});
