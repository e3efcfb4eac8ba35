import type { ReactElement } from "react";

import kit from "./kit.module.css";

export interface TimeProps {
  /** ISO 8601. */
  readonly at: string;
  /** `minute` unless said otherwise. */
  readonly precision?: "day" | "minute" | "second";
}

/** An instant in UTC, as caps and months are; the reader's own time is in the tooltip. */
export function Time({ at, precision = "minute" }: TimeProps): ReactElement {
  return (
    <time dateTime={at} title={`${inZone(at, "second")} in your time zone`} className={kit.figures}>
      {showUtc(at, precision)}
    </time>
  );
}

/** `"22 Nov 2026, 01:57 UTC"`; a text that is not an instant is shown as it is. */
export function showUtc(at: string, precision: "day" | "minute" | "second" = "minute"): string {
  const text = inZone(at, precision, "UTC");
  return precision === "day" || text === at ? text : `${text} UTC`;
}

function inZone(at: string, precision: "day" | "minute" | "second", timeZone?: string): string {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return at;
  return new Intl.DateTimeFormat("en-GB", {
    day: "2-digit",
    month: "short",
    year: "numeric",
    ...(precision === "day" ? {} : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
    ...(precision === "second" ? { second: "2-digit" } : {}),
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(ms);
}
