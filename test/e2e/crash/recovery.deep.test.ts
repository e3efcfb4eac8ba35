import { afterAll, beforeAll, expect, test } from "vitest";

import { ask, at, costOf, get } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { openRequest, type ClientView } from "./client-view.ts";
import { brokenRules, readBooks } from "./crash-books.ts";
import { openCrashHouse, type CrashHouse, type HeldLock } from "./crash-house.ts";
import type { CrashProcess } from "./crash-process.ts";
import { crashSuite } from "./crash-suite.ts";
import { expectDecided } from "./expect-decided.ts";
import { CHARGED, leftOpen } from "./left-open.ts";
import {
  CREDIT,
  doomedAttempts,
  doomedStates,
  expectServedAgain,
  expectUnchanged,
  openScene,
  type Asked,
  type Decided,
  type Scene,
} from "./scene.ts";
import { putToSleep, type Sleeper } from "./sleepers.ts";

/** Where instances die. */
const suite = crashSuite();
/** Where two instances sleep past their leases and a third one lives; they do so meanwhile. */
let bedroom: CrashHouse;
let one: CrashProcess;
let two: CrashProcess;
let sleepers: readonly Sleeper[];
let joinLock: HeldLock;

beforeAll(async () => {
  bedroom = await openCrashHouse();
  await bedroom.up();
  one = await bedroom.start().ready;
  two = await bedroom.start().ready;
  sleepers = await putToSleep(bedroom, { one, two });
});
afterAll(() => bedroom.close());

test("two instances that start at once on what a third one left charge it once", async () => {
  const { house } = suite;
  const scene = await leftOpen(house);
  const [first] = await Promise.all([house.restart(), house.start().ready]);
  expect(first.isRunning).toBe(true);
  await until("it is charged", async () => !(await doomedStates(house, scene)).includes("open"));
  await expectDecided(house, scene, CHARGED);
  await suite.decide(await expectServedAgain(house, scene));
});

test("kill -9 under load: every request is paid as it was seen, at most at its reserve", async () => {
  const { house } = suite;
  const kinds: readonly Asked[] = [
    { wire: "wire_a", stream: true },
    { wire: "wire_b", stream: false },
    { wire: "wire_a", stream: true, model: "test/both" },
    { wire: "wire_b", stream: true, model: "test/ba" },
  ];
  const scenes: Scene[] = [];
  for (let i = 0; i < 6; i++) {
    for (const kind of kinds) scenes.push(await openScene(house, kind));
  }
  house.simulator.script({ model: "test/both", fault: "status:500", times: 6 });
  house.simulator.script({ model: "test/b", fault: "slow:30", times: 3 });
  house.simulator.script({ model: "test/ba", fault: "slow:20", times: 3 });
  const gateway = await house.up();
  const requests = scenes.map((scene) => openRequest(gateway.url, scene.doomed));
  const seen = (): number => requests.filter((request) => request.text() !== "").length;
  await until("some have been answered in part", () => seen() >= scenes.length / 2);
  gateway.signal("SIGKILL");
  await gateway.ended;
  const views = await Promise.all(requests.map((request) => request.view));
  await house.restart();
  for (const [i, scene] of scenes.entries()) await expectPaidAsSeen(scene, views[i]);
  expect(await brokenRules(house.backend)).toEqual([]);
  for (const scene of scenes) await suite.decide(await expectServedAgain(house, scene));
});

suite.testUnchanged();

test("a peer charges at its reserve what an instance has open that slept past its lease", async () => {
  for (const { scene } of sleepers) {
    const isOver = async (): Promise<boolean> =>
      !(await doomedStates(bedroom, scene)).includes("open");
    await until("the peer has charged it", isOver, 45_000);
  }
  for (const { scene, row } of sleepers) await expectDecided(bedroom, scene, row.givenUp);
});

test("an instance that wakes up sends nothing new until it has joined again", async () => {
  joinLock = await bedroom.lock("select pg_advisory_xact_lock(hashtext('tokenmarket join'))");
  one.signal("SIGCONT");
  two.signal("SIGCONT");
  const scene = await openScene(bedroom, { wire: "wire_a" });
  for (const woken of [one, two]) {
    const refused = await ask(woken.url, scene.doomed);
    expect(refused.status).toBe(503);
    expect(at(refused.json, "error", "metadata", "retryable")).toBe(true);
    // The database answers, and this one has lost its lease: it alone is not ready.
    await until("it is not ready", async () => {
      const probe = await get(woken.url, { key: scene.account.key, path: "/readyz" });
      return probe.status === 503;
    });
  }
  await expectDecided(bedroom, scene, { pays: [], received: 0 });
});

test("what it observed late returns what was charged too much, once", async () => {
  await one.goOn();
  await two.goOn();
  for (const { scene, view, row } of sleepers) {
    expect(await view).toMatchObject({ status: row.status, isWhole: true });
    await until("it is corrected", async () => !(await isAtReserve(scene)));
    await expectDecided(bedroom, scene, row.late);
  }
});

test("when it has joined again it serves; nothing is charged or returned twice", async () => {
  await joinLock.release();
  const scene = await openScene(bedroom, { wire: "wire_b", stream: true });
  for (const woken of [one, two]) {
    await until("it serves again", async () => (await ask(woken.url, scene.doomed)).status === 200);
  }
  const late: Decided[] = [];
  for (const sleeper of sleepers) late.push(await expectServedAgain(bedroom, sleeper.scene));
  for (const woken of [one, two]) {
    woken.signal("SIGKILL");
    await woken.ended;
  }
  await bedroom.restart({ shipped: true });
  await expectUnchanged(bedroom, late);
});

/**
 * Whatever moment it was: what was sent is in the journal, and what was reported is what is paid.
 */
async function expectPaidAsSeen(scene: Scene, view: ClientView | undefined): Promise<void> {
  const { house } = suite;
  const attempts = await doomedAttempts(house, scene);
  const sent = house.received(scene.mark).map((call) => call.attemptId);
  expect(attempts.map((each) => each.attemptId)).toEqual(expect.arrayContaining(sent));
  for (const { state, debit, reserve } of attempts) {
    const most = { open: -1n, void: 0n, settled: scene.observed, unknown_after_crash: reserve };
    expect(debit).toBeLessThanOrEqual(most[state]);
  }
  const charged = attempts.reduce((sum, each) => sum + each.debit, 0n);
  const told = view?.isWhole === true ? (costOf(view) ?? 0n) : charged;
  expect(told).toBe(charged);
  const { settled, held } = await readBooks(house.backend, scene.account);
  expect({ settled, held }).toEqual({ settled: CREDIT - scene.observed - charged, held: 0n });
}

/** Charged after a crash, and not corrected yet. */
async function isAtReserve(scene: Scene): Promise<boolean> {
  const attempts = await doomedAttempts(bedroom, scene);
  return attempts.some((each) => each.basis === "unknown_after_crash");
}
