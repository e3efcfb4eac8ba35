import { afterEach, expect, test } from "vitest";

import { StoppedClock } from "../../../test/support/clocks.ts";
import { Readiness } from "./readiness.ts";

const clock = new StoppedClock();
let isHeld = true;
let isDatabaseUp = true;
let opened: Readiness | undefined;
afterEach(() => {
  opened?.close();
  isHeld = true;
  isDatabaseUp = true;
});

function open(): Readiness {
  opened = new Readiness({
    clock,
    isLeaseHeld: () => isHeld,
    pingDatabase: () => (isDatabaseUp ? Promise.resolve() : Promise.reject(new Error("away"))),
  });
  return opened;
}

async function pass(readiness: Readiness, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await readiness.check();
    clock.moveOn(1_000);
  }
}

test("an instance is ready from the moment it listens until it drains", () => {
  const readiness = open();
  expect(readiness).toMatchObject({ state: "starting", isReady: false });
  readiness.serve();
  expect(readiness).toMatchObject({ state: "serving", isReady: true });
  readiness.drain();
  expect(readiness).toMatchObject({ state: "draining", isReady: false, isDraining: true });
  readiness.serve();
  expect(readiness.state).toBe("draining");
});

test("an instance that loses its lease together with the database stays ready", async () => {
  const readiness = open();
  readiness.serve();
  isHeld = false;
  isDatabaseUp = false;
  await pass(readiness, 60);
  expect(readiness.isReady).toBe(true);
  isDatabaseUp = true;
  await pass(readiness, 3);
  isHeld = true;
  await pass(readiness, 60);
  expect(readiness.isReady).toBe(true);
});

test("a lease lost for over 5 s while the database answers makes its instance unready", async () => {
  const readiness = open();
  readiness.serve();
  isHeld = false;
  await pass(readiness, 5);
  expect(readiness.isReady).toBe(true);
  await pass(readiness, 2);
  expect(readiness.isReady).toBe(false);
  expect(readiness.report().checks).toMatchObject({ not_fenced: false, not_draining: true });
  isHeld = true;
  expect(readiness.isReady).toBe(true);
});

test("an instance without its lease becomes ready again when the database stops answering", async () => {
  const readiness = open();
  readiness.serve();
  isHeld = false;
  await pass(readiness, 8);
  expect(readiness.isReady).toBe(false);
  clock.moveOn(3_000);
  expect(readiness.isReady).toBe(true);
});

test("a rolled-back ledger makes an instance unready at once", () => {
  let isStopped = false;
  const readiness = new Readiness({
    clock,
    isLeaseHeld: () => false,
    isStopped: () => isStopped,
    pingDatabase: () => Promise.resolve(),
  });
  opened = readiness;
  readiness.serve();
  expect(readiness.isReady).toBe(true);
  isStopped = true;
  expect(readiness.isReady).toBe(false);
  expect(readiness.report().checks).toMatchObject({ books_are_whole: false, not_fenced: true });
});
