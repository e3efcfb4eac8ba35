import { expect, test } from "vitest";

import { crashSuite } from "./crash-suite.ts";
import { expectDecided } from "./expect-decided.ts";
import { FAIL_POINTS } from "./fail-points.ts";
import { CHARGED, KILLED, leftOpen } from "./left-open.ts";
import { MATRIX, QUICK_ROWS } from "./matrix.ts";
import { doomedStates, expectServedAgain } from "./scenario.ts";
import { expectServedOut } from "./sigterm.ts";

/** Where a start dies; the other points are a request's, and each has a row. */
const AT_START = ["joined", "recovered"] as const;

const suite = crashSuite();

test("the process is killed at every fail point, at most of them in the deep run", () => {
  const killedAt = new Set<string>([...MATRIX.map((row) => row.diesAt), ...AT_START]);
  expect([...killedAt].toSorted()).toEqual(FAIL_POINTS.toSorted());
});

suite.testRows(QUICK_ROWS);

test("killed before its recovery, and again behind it: the next start charges once", async () => {
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

test("SIGTERM in the middle of a stream: a whole answer at its cost, and exit 0", () =>
  expectServedOut(suite, { at: "output sent", wire: "wire_b", stream: true }));

suite.testUnchanged();
