/** Descriptions of common cron expressions. */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const SHORT = DAYS.map((day) => day.slice(0, 3).toUpperCase());
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const SHORT_MONTHS = MONTHS.map((month) => month.slice(0, 3).toUpperCase());

/** Such as “weekdays at 08:00”; empty for uncommon expressions. */
export function cronDescription(line: string): string {
  const [minute = "", hour = "", day = "", month = "", weekday = "", ...rest] = line
    .trim()
    .split(/\s+/);
  if (rest.length || !weekday) return "";
  const time = timeText(minute, hour);
  const days = time && dayText(day, month, weekday);
  if (!time || days === null) return "";
  if (time.isOften) return days ? `${time.words}, ${days}` : time.words;
  return `${days || "every day"} ${time.words}`;
}

function timeText(minute: string, hour: string): { words: string; isOften: boolean } | null {
  const often = (words: string) => ({ words, isOften: true });
  const step = /^(?:\*|0)\/(\d+)$/.exec(minute);
  if (hour === "*" && (minute === "*" || step?.[1] === "1")) return often("every minute");
  if (hour === "*" && step) return often(`every ${step[1]} minutes`);
  if (!isNumber(minute) || Number(minute) > 59) return null;
  const past = minute === "0" || minute === "00" ? "" : ` at ${minute} past`;
  const hourStep = /^(?:\*|0)\/(\d+)$/.exec(hour);
  if (hour === "*" || hourStep?.[1] === "1") return often(`every hour${past}`);
  if (hourStep) return often(`every ${hourStep[1]} hours${past}`);
  const hours = hour.split(",");
  if (!hours.every((one) => isNumber(one) && Number(one) < 24)) return null;
  const clock = hours.map((one) => `${one.padStart(2, "0")}:${minute.padStart(2, "0")}`);
  return { words: `at ${listed(clock)}`, isOften: false };
}

/** Empty for every day, null if there is no simple description. */
function dayText(day: string, month: string, weekday: string): string | null {
  const months = month === "*" ? [] : names(month, SHORT_MONTHS, MONTHS, 1);
  if (months === null) return null;
  const inMonths = months.length ? ` in ${listed(months)}` : "";
  if (day === "*" && weekday === "*") return months.length ? `every day${inMonths}` : "";
  if (day === "*") {
    const days = names(weekday.replaceAll("7", "0"), SHORT, DAYS, 0);
    if (!days) return null;
    return weekdayText(days) + inMonths;
  }
  if (weekday !== "*") return null;
  const numbers = day.split(",");
  if (day === "L") return `on the last day of ${months.length ? listed(months) : "every month"}`;
  if (!numbers.every(isNumber)) return null;
  const word = numbers.length > 1 ? "days" : "day";
  return `on ${word} ${listed(numbers)} of ${months.length ? listed(months) : "every month"}`;
}

function weekdayText(days: readonly string[]): string {
  const isWorkday = (name: string) => name !== "Saturday" && name !== "Sunday";
  const set = new Set(days);
  if (set.size === 7) return "every day";
  if (set.size === 5 && days.every(isWorkday)) return "weekdays";
  if (set.size === 2 && !days.some(isWorkday)) return "weekends";
  return listed(days.map((name) => `${name}s`));
}

/** Expands names, numbers and ranges to full names; null for other syntax. */
function names(
  field: string,
  short: readonly string[],
  full: readonly string[],
  first: number,
): string[] | null {
  const found: string[] = [];
  for (const part of field.split(",")) {
    const [from, to = from, ...more] = part.split("-").map((word) => {
      const at = short.indexOf(word.toUpperCase());
      return at >= 0 ? at : isNumber(word) ? Number(word) - first : -1;
    });
    if (more.length || from === undefined || to === undefined || from < 0 || to < from) return null;
    for (let at = from; at <= to; at++) {
      const name = full[at];
      if (!name) return null;
      found.push(name);
    }
  }
  return found;
}

const isNumber = (text: string) => /^\d+$/.test(text);

function listed(words: readonly string[]): string {
  return words.length < 2
    ? (words[0] ?? "")
    : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
