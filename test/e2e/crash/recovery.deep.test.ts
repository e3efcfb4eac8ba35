import { beforeAll, expect, test } from "vitest";

import { ask, at, costOf, get } from "../../support/ask.ts";
import { brokenBooks, until } from "../../support/books.ts";
import { withResource } from "../../support/with-resource.ts";
import { openRequest, type ClientView } from "./client-view.ts";
import { readBooks } from "./crash-books.ts";
import { openCrashFixture, type HeldLock } from "./crash-fixture.ts";
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
  openScenario,
  type Asked,
  type Decided,
  type Scenario,
} from "./scenario.ts";
import { putToSleep, type Sleeper } from "./sleepers.ts";

/** The installation whose instances are killed. */
const suite = crashSuite();
/** The installation in which three instances are paused past their leases, beside a fourth. */
const bedroom = withResource(() => openCrashFixture());
let one: CrashProcess;
let two: CrashProcess;
let three: CrashProcess;
let sleepers: readonly Sleeper[];
let joinLock: HeldLock;

beforeAll(async () => {
  await bedroom.up();
  one = await bedroom.start().ready;
  two = await bedroom.start().ready;
  three = await bedroom.start().ready;
  sleepers = await putToSleep(bedroom, { one, two, three });
});

test("two instances that start at once charge the open attempt of a dead instance exactly once", async () => {
  const { fixture } = suite;
  const scenario = await leftOpen(fixture);
  const [first] = await Promise.all([fixture.restart(), fixture.start().ready]);
  expect(first.isRunning).toBe(true);
  await until(
    "it is charged",
    async () => !(await doomedStates(fixture, scenario)).includes("open"),
  );
  await expectDecided(fixture, scenario, CHARGED);
  await suite.decide(await expectServedAgain(fixture, scenario));
});

test("kill -9 under load: every request is charged what its client saw, at most its reserve", async () => {
  const { fixture } = suite;
  const kinds: readonly Asked[] = [
    { wire: "wire_a", stream: true },
    { wire: "wire_b", stream: false },
    { wire: "wire_a", stream: true, model: "test/both" },
    { wire: "wire_b", stream: true, model: "test/ba" },
  ];
  const scenes: Scenario[] = [];
  for (let i = 0; i < 6; i++) {
    for (const kind of kinds) scenes.push(await openScenario(fixture, kind));
  }
  fixture.simulator.script({ model: "test/both", fault: "status:500", times: 6 });
  fixture.simulator.script({ model: "test/b", fault: "slow:30", times: 3 });
  fixture.simulator.script({ model: "test/ba", fault: "slow:20", times: 3 });
  const gateway = await fixture.up();
  const requests = scenes.map((scenario) => openRequest(gateway.url, scenario.doomed));
  const seen = (): number => requests.filter((request) => request.text() !== "").length;
  await until("some have been answered in part", () => seen() >= scenes.length / 2);
  gateway.signal("SIGKILL");
  await gateway.ended;
  const views = await Promise.all(requests.map((request) => request.view));
  await fixture.restart();
  for (const [i, scenario] of scenes.entries()) await expectPaidAsSeen(scenario, views[i]);
  expect(await brokenBooks(fixture)).toEqual([]);
  for (const scenario of scenes) await suite.decide(await expectServedAgain(fixture, scenario));
});

suite.testUnchanged();

test("a peer charges the reserve for the open attempts of an instance paused past its lease", async () => {
  for (const { scenario } of sleepers) {
    const isOver = async (): Promise<boolean> =>
      !(await doomedStates(bedroom, scenario)).includes("open");
    await until("the peer has charged it", isOver, 45_000);
  }
  for (const { scenario, row } of sleepers) await expectDecided(bedroom, scenario, row.givenUp);
});

test("a resumed instance answers 503 and sends nothing to a provider until it has joined again", async () => {
  joinLock = await bedroom.lock("select pg_advisory_xact_lock(hashtext('tokenmarket join'))");
  for (const woken of [one, two, three]) woken.signal("SIGCONT");
  const scenario = await openScenario(bedroom, { wire: "wire_a" });
  for (const woken of [one, two, three]) {
    const refused = await ask(woken.url, scenario.doomed);
    expect(refused.status).toBe(503);
    expect(at(refused.json, "error", "metadata", "retryable")).toBe(true);
    // The database answers, so an instance without a lease reports that it is not ready.
    await until("it is not ready", async () => {
      const probe = await get(woken.url, { key: scenario.account.key, path: "/readyz" });
      return probe.status === 503;
    });
  }
  await expectDecided(bedroom, scenario, { pays: [], received: 0 });
});

test("an answer observed after its reserve was charged refunds the excess once", async () => {
  for (const woken of [one, two, three]) await woken.goOn();
  for (const { scenario, view, row } of sleepers) {
    expect(await view).toMatchObject({ status: row.status, isWhole: true });
    await until("it is corrected", async () => !(await isAtReserve(scenario)));
    await expectDecided(bedroom, scenario, row.late);
  }
});

test("an instance that has joined again serves, and nothing is charged or returned twice", async () => {
  await joinLock.release();
  const scenario = await openScenario(bedroom, { wire: "wire_b", stream: true });
  for (const woken of [one, two, three]) {
    await until(
      "it serves again",
      async () => (await ask(woken.url, scenario.doomed)).status === 200,
    );
  }
  const late: Decided[] = [];
  for (const sleeper of sleepers) late.push(await expectServedAgain(bedroom, sleeper.scenario));
  for (const woken of [one, two, three]) {
    woken.signal("SIGKILL");
    await woken.ended;
  }
  await bedroom.restart({ shipped: true });
  await expectUnchanged(bedroom, late);
});

/** Checks that the journal has all sent attempts, and that a reported cost is what was paid. */
async function expectPaidAsSeen(scenario: Scenario, view: ClientView | undefined): Promise<void> {
  const { fixture } = suite;
  const attempts = await doomedAttempts(fixture, scenario);
  const sent = fixture.received(scenario.mark).map((call) => call.attemptId);
  expect(attempts.map((each) => each.attemptId)).toEqual(expect.arrayContaining(sent));
  for (const { state, debit, reserve } of attempts) {
    const most = { open: -1n, void: 0n, settled: scenario.observed, unknown_after_crash: reserve };
    expect(debit).toBeLessThanOrEqual(most[state]);
  }
  const charged = attempts.reduce((sum, each) => sum + each.debit, 0n);
  const reported = view?.isWhole === true ? (costOf(view) ?? 0n) : charged;
  expect(reported).toBe(charged);
  const { settled, held } = await readBooks(fixture.backend, scenario.account);
  expect({ settled, held }).toEqual({ settled: CREDIT - scenario.observed - charged, held: 0n });
}

/** Tells whether an attempt was charged its reserve after a crash and is not corrected yet. */
async function isAtReserve(scenario: Scenario): Promise<boolean> {
  const attempts = await doomedAttempts(bedroom, scenario);
  return attempts.some((each) => each.basis === "unknown_after_crash");
}
