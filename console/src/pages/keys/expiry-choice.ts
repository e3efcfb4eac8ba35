/** A key's expiry: never, a number of days, or a date. Blank keeps the current expiry. */
export type ExpiryChoice = "" | "never" | "7" | "30" | "90" | "365" | "date";

export interface TypedExpiry {
  readonly choice: ExpiryChoice;
  readonly date: string;
}

export const NO_EXPIRY: TypedExpiry = { choice: "", date: "" };

export type ReadExpiry =
  | { readonly kind: "unchanged" }
  | { readonly kind: "chosen"; readonly expiresAt: string }
  | { readonly kind: "problem"; readonly problem: string };

/** Converts the choice for the API. A key with a date expires at the end of that day in UTC. */
export function readExpiryChoice({ choice, date }: TypedExpiry, nowMs: number): ReadExpiry {
  if (choice === "") return { kind: "unchanged" };
  if (choice === "never") return { kind: "chosen", expiresAt: "never" };
  if (choice !== "date") {
    const atMs = nowMs + Number(choice) * DAY_MS;
    return { kind: "chosen", expiresAt: new Date(atMs).toISOString() };
  }
  const atMs = Date.parse(`${date}T00:00:00Z`) + DAY_MS;
  if (Number.isNaN(atMs)) return { kind: "problem", problem: "Choose a date." };
  if (atMs > nowMs) return { kind: "chosen", expiresAt: new Date(atMs).toISOString() };
  return { kind: "problem", problem: "Choose today or a later date." };
}

/**
 * Warns of a key's expiry, such as `"expired"`, `"expires within a day"` or `"expires in 3 days"`.
 * Undefined without an expiry, or if more than a week is left.
 */
export function expirySoon(expiresAt: string | null, nowMs: number): string | undefined {
  if (expiresAt === null) return undefined;
  const leftMs = Date.parse(expiresAt) - nowMs;
  if (leftMs <= 0) return "expired";
  const days = Math.ceil(leftMs / DAY_MS);
  if (days > WARN_DAYS) return undefined;
  return days === 1 ? "expires within a day" : `expires in ${days} days`;
}

const DAY_MS = 86_400_000;
const WARN_DAYS = 7;
