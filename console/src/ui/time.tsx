import kit from "./kit.module.css";

export interface TimeProps {
  /** An instant in ISO 8601. */
  readonly at: string;
  readonly precision?: "day" | "minute" | "second";
}

/** An instant in UTC, the zone of caps and months. Its tooltip is in the reader's time zone. */
export function Time({ at, precision = "minute" }: TimeProps) {
  return (
    <time dateTime={at} title={`${inZone(at, "second")} in your time zone`} className={kit.figures}>
      {showUtc(at, precision)}
    </time>
  );
}

/** Writes an instant, such as `"22 Nov 2026, 01:57 UTC"`. Returns other texts unchanged. */
export function showUtc(at: string, precision: "day" | "minute" | "second" = "minute"): string {
  const text = inZone(at, precision, "UTC");
  return precision === "day" || text === at ? text : `${text} UTC`;
}

function inZone(at: string, precision: "day" | "minute" | "second", timeZone?: "UTC"): string {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return at;
  const parts = (timeZone === undefined ? OWN_ZONE : UTC).formatToParts(ms);
  const part = (wanted: string): string => parts.find(({ type }) => type === wanted)?.value ?? "";
  // The text is composed here, because browsers format the same locale in different ways.
  const day = `${part("day")} ${part("month")} ${part("year")}`;
  if (precision === "day") return day;
  const minute = `${day}, ${part("hour")}:${part("minute")}`;
  return precision === "minute" ? minute : `${minute}:${part("second")}`;
}

const PARTS: Intl.DateTimeFormatOptions = {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
};
/* The formatters are created once, because creating one costs more than rendering a table cell. */
const OWN_ZONE = new Intl.DateTimeFormat("en-US", PARTS);
const UTC = new Intl.DateTimeFormat("en-US", { ...PARTS, timeZone: "UTC" });
