import { describe, expect, test } from "vitest";

import { systemClock } from "../../kernel/core/time.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { microUsd } from "../../kernel/core/money.ts";
import type { IdentityStore } from "./postgres-identity-store.ts";
import { isRecheckOverdue, recheckDueAtMs, Sessions } from "./sessions.ts";

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

describe("cookies of no session", () => {
  test("are looked up once, and only three at a time, because the calls need the database too", async () => {
    const asked: Buffer[] = [];
    let open = 0;
    let mostOpen = 0;
    const findSession = async (hash: Buffer): Promise<undefined> => {
      asked.push(hash);
      mostOpen = Math.max(mostOpen, ++open);
      await new Promise((done) => setTimeout(done, 5));
      open -= 1;
    };
    const sessions = new Sessions({
      consoleUrl: () => "http://127.0.0.1:8081",
      store: { findSession } as unknown as IdentityStore,
      clock: { ...systemClock, monotonicMs: () => 0 },
      log: silentLog,
      kind: "oidc",
      welcomeMicroUsd: microUsd(0n),
    });
    const cookies = Array.from({ length: 20 }, (_, n) => {
      return `tm_session=${String.fromCharCode(65 + n).repeat(43)}`;
    });
    for (const found of await Promise.all(cookies.map((each) => sessions.readSession(each)))) {
      expect(found).toBeUndefined();
    }
    for (const each of cookies) expect(await sessions.sessionEndReason(each)).toBeUndefined();
    expect({ asked: asked.length, mostOpen }).toEqual({ asked: cookies.length, mostOpen: 3 });
  });
});
