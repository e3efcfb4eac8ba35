import { describe, expect, test } from "vitest";

import { isRecheckOverdue, recheckDueAtMs } from "./sessions.ts";

const HOUR_MS = 3_600_000;
const session = { idpCheckedAtMs: 0, idpTriedAtMs: 0, recheckAskedAtMs: null };

describe("a session at an identity provider", () => {
  test("the browser is sent to the provider every 12 hours", () => {
    expect(recheckDueAtMs(session)).toBe(12 * HOUR_MS);
  });

  test("a browser that did not come back is sent again an hour later, not at every page", () => {
    const tried = { ...session, idpTriedAtMs: 13 * HOUR_MS };
    expect(recheckDueAtMs(tried)).toBe(14 * HOUR_MS);
  });

  test("a session ends 12 hours after a recheck was asked for and not answered", () => {
    const expected = { ...session, recheckAskedAtMs: 12 * HOUR_MS };
    expect(isRecheckOverdue(expected, 24 * HOUR_MS - 1)).toBe(false);
    expect(isRecheckOverdue(expected, 24 * HOUR_MS)).toBe(true);
    expect(isRecheckOverdue(session, 99 * HOUR_MS)).toBe(false);
  });
});
