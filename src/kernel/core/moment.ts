/* `Date.parse` alone is too lenient: it accepts "-1" as a day in 2001. */
const ISO_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Milliseconds since 1970 of Unix seconds, or of an ISO date or instant. */
export function parseMoment(text: string): number | undefined {
  const ms = /^\d{1,11}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(ISO_INSTANT.test(text) ? text : "");
  return Number.isFinite(ms) ? ms : undefined;
}
