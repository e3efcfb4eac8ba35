import { createHash } from "node:crypto";

import { describe, expect, onTestFinished, test, vi } from "vitest";

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
    const sessions = openSessions({ findSession });
    const cookieOf = (sign: string): string => `tm_session=${sign.repeat(43)}`;
    const cookies = "ABCDEFGHIJKLMNOPQRST".split("").map(cookieOf);
    for (const found of await Promise.all(cookies.map((each) => sessions.readSession(each)))) {
      expect(found).toBeUndefined();
    }
    for (const each of cookies) expect(await sessions.sessionEndReason(each)).toBeUndefined();
    const late = "123456".split("").map(cookieOf);
    // The fourth cookie comes twice at once, and the second one waits until the first was read.
    await Promise.all([...late, late[3]].map((each) => sessions.readSession(each)));
    await sessions.signOut(late[3]);
    cookies.push(...late);
    expect({ asked: asked.length, mostOpen }).toEqual({ asked: cookies.length, mostOpen: 3 });
  });

  test("do not delay a session that was just read, however many wait", async () => {
    const [known = "", ...unknown] = ["K", "1", "2", "3", "4"].map((sign) => sign.repeat(43));
    const hash = createHash("sha256").update(known).digest();
    const findSession = async (asked: Buffer): Promise<object | undefined> =>
      asked.equals(hash) ? { endedReason: "expired" } : await new Promise(() => undefined);
    const sessions = openSessions({ findSession });
    expect(await sessions.sessionEndReason(`tm_session=${known}`)).toBe("expired");
    for (const each of unknown) void sessions.sessionEndReason(`tm_session=${each}`).catch(() => 0);
    expect(await sessions.sessionEndReason(`tm_session=${known}`)).toBe("expired");
  });
});

describe("the cookie of one session", () => {
  const cookie = `tm_session=${"S".repeat(43)}`;
  const stored = { expiresAtMs: Number.POSITIVE_INFINITY, lastSeenAtMs: 0, endedReason: null };

  test("is looked up three times at once at most, because the calls need the database too", async () => {
    let [asked, open, mostOpen] = [0, 0, 0];
    const findSession = async (): Promise<object> => {
      asked += 1;
      mostOpen = Math.max(mostOpen, ++open);
      await new Promise((done) => setTimeout(done, 2));
      open -= 1;
      return stored;
    };
    const sessions = openSessions({ findSession });
    await sessions.sessionEndReason(cookie);
    await Promise.all(Array.from({ length: 20 }, () => sessions.sessionEndReason(cookie)));
    expect({ asked, mostOpen }).toEqual({ asked: 21, mostOpen: 3 });
  });

  test.each([
    ["two seconds if it was not found lately", false, 2_000],
    ["ten seconds if it was, because a page asks for much at once", true, 10_000],
  ])("waits for its turn for %s", async (_how, isKnown, waitMs) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let answer = isKnown;
    const findSession = async (): Promise<object> =>
      answer ? stored : await new Promise(() => undefined);
    const sessions = openSessions({ findSession });
    if (isKnown) await sessions.sessionEndReason(cookie);
    answer = false;
    for (let n = 0; n < 3; n += 1) void sessions.sessionEndReason(cookie);
    const refused = vi.fn<() => void>();
    void sessions.sessionEndReason(cookie).catch(refused);
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    expect(refused).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(refused).toHaveBeenCalledOnce();
  });

  test.each([
    ["was signed out", { endedReason: "signed-out" }, "signed-out"],
    ["has expired", { expiresAtMs: 0 }, "expired"],
  ])("that %s is looked up once and ended no more, because it stays so", async (_how, is, why) => {
    const asked: Buffer[] = [];
    const findSession = async (hash: Buffer): Promise<object> => {
      asked.push(hash);
      return { ...stored, ...is };
    };
    const endSession = (): never => expect.unreachable("the session has ended already");
    const sessions = openSessions({ findSession, endSession });
    for (let n = 0; n < 5; n += 1) expect(await sessions.sessionEndReason(cookie)).toBe(why);
    expect(await sessions.readSession(cookie)).toBeUndefined();
    await sessions.signOut(cookie);
    expect(asked).toHaveLength(1);
  });
});

function openSessions(store: object): Sessions {
  return new Sessions({
    consoleUrl: () => "http://127.0.0.1:8081",
    store: store as IdentityStore,
    clock: { ...systemClock, monotonicMs: () => 0 },
    log: silentLog,
    kind: "oidc",
    welcomeMicroUsd: microUsd(0n),
  });
}
