/** Time zones, and times for date-time inputs. */

export const ZONES: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];

export function zoneHere(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** The local time in a zone, such as 2026-11-16T08:00. */
export function localTime(iso: string, timeZone: string): string {
  const part = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "short",
  });
  return part.format(new Date(iso)).replace(" ", "T");
}
