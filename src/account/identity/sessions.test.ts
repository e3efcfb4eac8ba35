import { describe, expect, test } from "vitest";

import { isRecheckOverdue, isRefreshDue, isRefreshOverdue, recheckDueAtMs } from "./sessions.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const asked = { idpCheckedAtMs: 0, idpTriedAtMs: 0, recheckAskedAtMs: null };

describe("with a refresh token", () => {
  const session = { ...asked, hasRefreshToken: true };

  test("it is tried after 15 minutes, and 15 minutes after it was tried in vain", () => {
    expect(isRefreshDue(session, 15 * MINUTE_MS - 1)).toBe(false);
    expect(isRefreshDue(session, 15 * MINUTE_MS)).toBe(true);
    const tried = { ...session, idpTriedAtMs: 15 * MINUTE_MS };
    expect(isRefreshDue(tried, 29 * MINUTE_MS)).toBe(false);
    expect(isRefreshDue(tried, 30 * MINUTE_MS)).toBe(true);
  });

  test("a provider that says nothing keeps a session alive for 24 hours and no longer", () => {
    expect(isRefreshOverdue(session, 24 * HOUR_MS - 1)).toBe(false);
    expect(isRefreshOverdue(session, 24 * HOUR_MS)).toBe(true);
  });

  test("the browser is never sent to the provider", () => {
    expect(recheckDueAtMs(session)).toBeUndefined();
    expect(isRecheckOverdue({ ...session, recheckAskedAtMs: 0 }, 99 * HOUR_MS)).toBe(false);
  });
});

describe("without one", () => {
  const session = { ...asked, hasRefreshToken: false };

  test("the browser is sent to the provider every 12 hours", () => {
    expect(recheckDueAtMs(session)).toBe(12 * HOUR_MS);
    expect(isRefreshDue(session, 99 * HOUR_MS)).toBe(false);
  });

  test("a browser that did not come back is sent again an hour later, not at every page", () => {
    const tried = { ...session, idpTriedAtMs: 13 * HOUR_MS };
    expect(recheckDueAtMs(tried)).toBe(14 * HOUR_MS);
  });

  test("a session that is used for 12 more hours without an answer ends", () => {
    const expected = { ...session, recheckAskedAtMs: 12 * HOUR_MS };
    expect(isRecheckOverdue(expected, 24 * HOUR_MS - 1)).toBe(false);
    expect(isRecheckOverdue(expected, 24 * HOUR_MS)).toBe(true);
    expect(isRecheckOverdue(session, 99 * HOUR_MS)).toBe(false);
  });
});
