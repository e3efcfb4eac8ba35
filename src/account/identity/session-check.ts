import type { StoredSession } from "./identity-store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A session ends that long after it began, whatever happens. */
export const SESSION_MS: number = 7 * 24 * HOUR_MS;
/** The use of a session is noted that often. */
export const touchEveryMs: number = MINUTE_MS;
/** So often, while a session is used, its refresh token is tried. */
export const REFRESH_EVERY_MS: number = 15 * MINUTE_MS;
/** So often, where there is no refresh token, the browser is sent to the provider and back. */
const RECHECK_EVERY_MS: number = 12 * HOUR_MS;
/** A browser that did not come back from the provider is sent again after that long. */
const recheckPauseMs: number = HOUR_MS;
/** So long a session is used on although its browser brings no answer of the provider. */
const RECHECK_PATIENCE_MS: number = 12 * HOUR_MS;
/** So long a refresh token may stay without an answer. */
const REFRESH_PATIENCE_MS: number = 24 * HOUR_MS;

type Checked = Pick<
  StoredSession,
  "idpCheckedAtMs" | "idpTriedAtMs" | "recheckAskedAtMs" | "hasRefreshToken"
>;

/** Is it time to try the refresh token? */
export function isRefreshDue(session: Checked, nowMs: number): boolean {
  const askedMs = Math.max(session.idpCheckedAtMs, session.idpTriedAtMs);
  return session.hasRefreshToken && nowMs - askedMs >= REFRESH_EVERY_MS;
}

/** Has the provider kept silent for longer than a session may go without its answer? */
export function isRefreshOverdue(session: Checked, nowMs: number): boolean {
  return nowMs - session.idpCheckedAtMs >= REFRESH_PATIENCE_MS;
}

/**
 * When the browser has to be sent to the provider; undefined: its refresh token is checked instead.
 */
export function recheckDueAtMs(session: Checked): number | undefined {
  if (session.hasRefreshToken) return undefined;
  const { idpCheckedAtMs, idpTriedAtMs } = session;
  const isTried = idpTriedAtMs > idpCheckedAtMs;
  const dueMs = idpCheckedAtMs + RECHECK_EVERY_MS;
  return isTried ? Math.max(dueMs, idpTriedAtMs + recheckPauseMs) : dueMs;
}

/**
 * Has a browser been in use for too long since it was expected to bring an answer? Time in which
 * it was not used does not count: who comes back after a day is sent to the provider first.
 */
export function isRecheckOverdue(session: Checked, nowMs: number): boolean {
  const { recheckAskedAtMs, hasRefreshToken } = session;
  if (hasRefreshToken || recheckAskedAtMs === null) return false;
  return nowMs - recheckAskedAtMs >= RECHECK_PATIENCE_MS;
}
