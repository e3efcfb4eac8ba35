import { expect } from "vitest";

import { costOf } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { openRequest, type ClientView } from "./client-view.ts";
import { hasSession, severSessions, waitingSessions, type AttemptState } from "./crash-books.ts";
import type { CrashFixture, HeldLock } from "./crash-fixture.ts";
import { expectDecided, type Decision } from "./expect-decided.ts";
import type { FailPoint } from "./fail-points.ts";
import {
  doomedStates,
  expectServedAgain,
  openScenario,
  type Asked,
  type Decided,
  type Scenario,
} from "./scenario.ts";

/** One row of the crash matrix: where the process dies, and what every party is left with. */
export interface CrashRow extends Asked, Decision {
  /** The promise to the customer. */
  readonly promise: string;
  readonly diesAt: FailPoint;
  /** The process dies when it reaches the point for the n-th time. Default 1. */
  readonly nth?: number;
  /** Faults of the provider, one for each dispatch in turn. */
  readonly provider?: readonly string[];
  /** True if the client disconnects once it has received something. */
  readonly leaves?: boolean;
  /** The states of the attempts in the journal, between the death and the restart. */
  readonly durable: readonly AttemptState[];
  /** How much the client receives; `a part` has neither the end nor a cost. */
  readonly sees: "nothing" | "a part" | "everything";
}

/** A row whose process dies after sending a batch that waits for another session's lock. */
export interface BatchRow extends CrashRow {
  readonly diesAt: "reserve sent" | "roll sent" | "settle sent";
  /** `is lost`: the session of the batch is ended before it can commit. */
  readonly batch: "commits after the death" | "commits under the next start" | "is lost";
}

export type MatrixRow = CrashRow | BatchRow;

/** Plays one row: kills the process, reads the journal, restarts, compares with the matrix. */
export async function expectRow(fixture: CrashFixture, row: MatrixRow): Promise<Decided> {
  if ("batch" in row) return await expectBatchRow(fixture, row);
  const scenario = await openScenario(fixture, row);
  script(fixture, scenario, row);
  const gateway = await fixture.up();
  await gateway.order({ at: row.diesAt, nth: row.nth ?? 1, act: "die" });
  const request = openRequest(gateway.url, scenario.doomed);
  if (row.leaves === true) {
    await until("the client has seen something", () => request.text() !== "");
    request.leave();
  }
  expect(await gateway.ended).toEqual({ code: null, signal: "SIGKILL" });
  expectSeen(await request.view, scenario, row);
  await expectDurable(fixture, scenario, row);
  await fixture.restart();
  await expectDecided(fixture, scenario, row);
  return await expectServedAgain(fixture, scenario);
}

/** Crashes with a batch that the database has received but not finished. */
async function expectBatchRow(fixture: CrashFixture, row: BatchRow): Promise<Decided> {
  const scenario = await openScenario(fixture, row);
  script(fixture, scenario, row);
  const { view, lock } = await dieUnderLock(fixture, scenario, row);
  expectSeen(view, scenario, row);
  const { backend } = fixture;
  const session = "tokenmarket ledger";
  await until("the dead process's batch waits", () => isWaiting(fixture, session));
  if (row.batch === "commits under the next start") {
    const restarted = fixture.restart();
    await until("the next start waits behind it", () => isWaiting(fixture, "tokenmarket"));
    await expectDurable(fixture, scenario, row);
    await lock.release();
    await restarted;
  } else {
    if (row.batch === "is lost") await severSessions(backend, session);
    await lock.release();
    await until("the batch is done", async () => !(await hasSession(backend, session)));
    await expectDurable(fixture, scenario, row);
    await fixture.restart();
  }
  await expectDecided(fixture, scenario, row);
  return await expectServedAgain(fixture, scenario);
}

function script(
  { simulator }: CrashFixture,
  { doomed }: Scenario,
  { provider = [] }: CrashRow,
): void {
  for (const fault of provider) simulator.script({ model: doomed.model, fault, times: 1 });
}

interface DiedUnderLock {
  readonly view: ClientView;
  readonly lock: HeldLock;
}

/** Locks the wallet when the batch is about to be sent, and kills the process after that. */
async function dieUnderLock(
  fixture: CrashFixture,
  scenario: Scenario,
  { diesAt }: BatchRow,
): Promise<DiedUnderLock> {
  const gateway = await fixture.up();
  const queued = diesAt.replace("sent", "queued") as FailPoint;
  await gateway.order({ at: queued, act: "wait" });
  const request = openRequest(gateway.url, scenario.doomed);
  await gateway.waitsAt(queued);
  const lock = await fixture.lockWallet(scenario.account);
  await gateway.order({ at: diesAt, act: "die" });
  await gateway.goOn();
  expect(await gateway.ended).toEqual({ code: null, signal: "SIGKILL" });
  return { view: await request.view, lock };
}

async function isWaiting({ backend }: CrashFixture, session: string): Promise<boolean> {
  return (await waitingSessions(backend)).includes(session);
}

async function expectDurable(
  fixture: CrashFixture,
  scenario: Scenario,
  row: CrashRow,
): Promise<void> {
  expect(await doomedStates(fixture, scenario)).toEqual(row.durable);
}

function expectSeen(view: ClientView, scenario: Scenario, { sees }: CrashRow): void {
  switch (sees) {
    case "nothing":
      return expect(view).toMatchObject({ status: 0, text: "" });
    case "a part":
      expect(view).toMatchObject({ status: 200, isWhole: false });
      expect(view.text).toContain("word1");
      // A cut answer must not report a cost, because a reported cost is charged exactly.
      return expect(costOf(view)).toBeUndefined();
    case "everything":
      expect(view).toMatchObject({ status: 200, isWhole: true });
      expect(view.text).toContain("word1");
      return expect(costOf(view)).toBe(scenario.observed);
    default:
      throw new Error(`unknown: ${String(sees)}`);
  }
}
