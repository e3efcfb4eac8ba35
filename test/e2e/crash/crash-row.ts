import { expect } from "vitest";

import { costOf } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { openRequest, type ClientView } from "./client-view.ts";
import { hasSession, severSessions, waitingSessions, type AttemptState } from "./crash-books.ts";
import type { CrashHouse, HeldLock } from "./crash-house.ts";
import { expectDecided, type Decision } from "./expect-decided.ts";
import type { FailPoint } from "./fail-points.ts";
import {
  doomedStates,
  expectServedAgain,
  openScene,
  type Asked,
  type Decided,
  type Scene,
} from "./scene.ts";

/** One row of the crash matrix: where the process dies, and what every party is left with. */
export interface CrashRow extends Asked, Decision {
  /** What the customer is promised. */
  readonly promise: string;
  readonly diesAt: FailPoint;
  /** The n-th time it comes there. Default 1. */
  readonly nth?: number;
  /** Faults of the provider, one for each dispatch in turn. */
  readonly provider?: readonly string[];
  /** The client goes away as soon as it has seen something. */
  readonly leaves?: boolean;
  /** States in the journal between death and restart. */
  readonly durable: readonly AttemptState[];
  /** What the client got; `a part`: without the end, and without a cost. */
  readonly sees: "nothing" | "a part" | "everything";
}

/** A batch that was on its way when its process died, held up by another session's lock. */
export interface BatchRow extends CrashRow {
  readonly diesAt: "reserve sent" | "roll sent" | "settle sent";
  /** `is lost`: its session ends before it could commit. */
  readonly batch: "commits after the death" | "commits under the next start" | "is lost";
}

export type MatrixRow = CrashRow | BatchRow;

/** Plays one row: die there, read what is durable, start again, compare with the matrix. */
export async function expectRow(house: CrashHouse, row: MatrixRow): Promise<Decided> {
  if ("batch" in row) return await expectBatchRow(house, row);
  const scene = await openScene(house, row);
  script(house, scene, row);
  const gateway = await house.up();
  await gateway.order({ at: row.diesAt, nth: row.nth ?? 1, act: "die" });
  const request = openRequest(gateway.url, scene.doomed);
  if (row.leaves === true) {
    await until("the client has seen something", () => request.text() !== "");
    request.leave();
  }
  expect(await gateway.ended).toEqual({ code: null, signal: "SIGKILL" });
  expectSeen(await request.view, scene, row);
  await expectDurable(house, scene, row);
  await house.restart();
  await expectDecided(house, scene, row);
  return await expectServedAgain(house, scene);
}

/** The same with a batch that the database had, but could not finish yet. */
async function expectBatchRow(house: CrashHouse, row: BatchRow): Promise<Decided> {
  const scene = await openScene(house, row);
  script(house, scene, row);
  const { view, lock } = await dieUnderLock(house, scene, row);
  expectSeen(view, scene, row);
  const { backend } = house;
  const session = row.diesAt === "settle sent" ? "tokenmarket close" : "tokenmarket reserve";
  await until("the dead process's batch waits", () => isWaiting(house, session));
  if (row.batch === "commits under the next start") {
    const restarted = house.restart();
    await until("the next start waits behind it", () => isWaiting(house, "tokenmarket"));
    await expectDurable(house, scene, row);
    await lock.release();
    await restarted;
  } else {
    if (row.batch === "is lost") await severSessions(backend, session);
    await lock.release();
    await until("the batch is done", async () => !(await hasSession(backend, session)));
    await expectDurable(house, scene, row);
    await house.restart();
  }
  await expectDecided(house, scene, row);
  return await expectServedAgain(house, scene);
}

function script({ simulator }: CrashHouse, { doomed }: Scene, { provider = [] }: CrashRow): void {
  for (const fault of provider) simulator.script({ model: doomed.model, fault, times: 1 });
}

interface DiedUnderLock {
  readonly view: ClientView;
  readonly lock: HeldLock;
}

/** The lock is taken while the batch is about to leave: reserve and settlement are one wallet's. */
async function dieUnderLock(
  house: CrashHouse,
  scene: Scene,
  { diesAt }: BatchRow,
): Promise<DiedUnderLock> {
  const gateway = await house.up();
  const queued = diesAt.replace("sent", "queued") as FailPoint;
  await gateway.order({ at: queued, act: "wait" });
  const request = openRequest(gateway.url, scene.doomed);
  await gateway.waitsAt(queued);
  const lock = await house.lockWallet(scene.account);
  await gateway.order({ at: diesAt, act: "die" });
  await gateway.goOn();
  expect(await gateway.ended).toEqual({ code: null, signal: "SIGKILL" });
  return { view: await request.view, lock };
}

async function isWaiting({ backend }: CrashHouse, session: string): Promise<boolean> {
  return (await waitingSessions(backend)).includes(session);
}

async function expectDurable(house: CrashHouse, scene: Scene, row: CrashRow): Promise<void> {
  expect(await doomedStates(house, scene)).toEqual(row.durable);
}

function expectSeen(view: ClientView, scene: Scene, { sees }: CrashRow): void {
  switch (sees) {
    case "nothing":
      return expect(view).toMatchObject({ status: 0, text: "" });
    case "a part":
      expect(view).toMatchObject({ status: 200, isWhole: false });
      expect(view.text).toContain("word1");
      // A reported cost is a promise: none was made.
      return expect(costOf(view)).toBeUndefined();
    case "everything":
      expect(view).toMatchObject({ status: 200, isWhole: true });
      expect(view.text).toContain("word1");
      return expect(costOf(view)).toBe(scene.observed);
    default:
      throw new Error(`unknown: ${String(sees)}`);
  }
}
