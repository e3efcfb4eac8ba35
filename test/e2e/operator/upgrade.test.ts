import { expect, test } from "vitest";

import { untilTaken } from "../../support/books.ts";
import { withSimulator } from "../../support/gateway.ts";
import { withOperatorFolder } from "../../support/operator.ts";
import { problemsOf } from "../../support/steady-traffic.ts";
import { beginUpgrade } from "../../support/upgrade.ts";

const PER_SECOND = 40;
const SERVED_MIN = 5;

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);

test("a gateway serves while a later release migrates, and starts again on the newer schema", async () => {
  const upgrade = await beginUpgrade(folder);
  const first = await upgrade.serve();
  const before = upgrade.traffic(first, PER_SECOND, untilTaken);
  await expect.poll(() => before.count).toBeGreaterThan(SERVED_MIN);
  // Two instances of the later release start together, but only one of them runs the steps.
  const ran = await Promise.all([upgrade.migrate(), upgrade.migrate()]);
  expect(ran.flat()).toEqual(["columns", "transfers"]);
  // This older program starts again on the newer schema.
  const again = await upgrade.serve();
  const after = upgrade.traffic(again, PER_SECOND, untilTaken);
  await expect.poll(() => after.count).toBeGreaterThan(SERVED_MIN);
  const sent = await Promise.all([before, after].map((traffic) => traffic.stop()));
  expect(problemsOf(sent.flat())).toEqual([]);
  const ends = [first, again].map((program) => program.end("SIGTERM"));
  expect(await Promise.all(ends)).toEqual([0, 0]);
  expect(await upgrade.audit()).toBe(0);
});
