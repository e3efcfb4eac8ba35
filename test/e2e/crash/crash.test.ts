import { expect, test } from "vitest";

import { crashSuite } from "./crash-suite.ts";
import { expectDecided } from "./expect-decided.ts";
import { FAIL_POINTS } from "./fail-points.ts";
import { CHARGED, KILLED, leftOpen } from "./left-open.ts";
import { MATRIX, QUICK_ROWS } from "./matrix.ts";
import { doomedStates, expectServedAgain } from "./scenario.ts";
import { expectServedOut } from "./sigterm.ts";

/** The fail points of a start; every other point is in a request and has a row in MATRIX. */
const AT_START = ["joined", "recovered"] as const;

const suite = crashSuite();

test("the crash tests together kill the process at every fail point", () => {
  const killedAt = new Set<string>([...MATRIX.map((row) => row.diesAt), ...AT_START]);
  expect([...killedAt].toSorted()).toEqual(FAIL_POINTS.toSorted());
});

suite.testRows(QUICK_ROWS);

test("a process that is killed before and again after its recovery charges the attempt once", async () => {
  const { fixture } = suite;
  const [joined, recovered] = AT_START;
  const scenario = await leftOpen(fixture);
  const first = fixture.start({ firstOrder: { at: joined, act: "die" } });
  expect(await first.ended).toEqual(KILLED);
  expect(await doomedStates(fixture, scenario)).toEqual(["open"]);
  const second = fixture.start({ firstOrder: { at: recovered, act: "die" } });
  expect(await second.ended).toEqual(KILLED);
  expect(await doomedStates(fixture, scenario)).toEqual(["unknown_after_crash"]);
  await fixture.restart();
  await expectDecided(fixture, scenario, CHARGED);
  await suite.decide(await expectServedAgain(fixture, scenario));
});

test("SIGTERM in mid-stream lets the answer finish at its cost, and the process exits with 0", () =>
  expectServedOut(suite, { at: "output sent", wire: "wire_b", stream: true }));

suite.testUnchanged();
