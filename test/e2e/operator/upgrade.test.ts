import { expect, onTestFinished, test } from "vitest";

import { ask } from "../../support/ask.ts";
import { withSimulator } from "../../support/gateway.ts";
import { withOperatorFolder } from "../../support/operator.ts";
import { emptyDatabase } from "../../support/postgres.ts";
import type { RunningProgram } from "../../support/program.ts";
import { withReleasedProgram } from "../../support/released-program.ts";
import { problemsOf, SteadyTraffic } from "../../support/steady-traffic.ts";
import { UpgradeFixture } from "../../support/upgrade.ts";
import { withResource } from "../../support/with-resource.ts";

const PER_SECOND = 40;
const SERVED_MIN = 5;

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const released = withReleasedProgram();
const database = withResource(emptyDatabase, (opened) => opened.drop());

/** Requests until the test ends the traffic, of which some have to be under way. */
async function trafficOn(program: RunningProgram, key: string): Promise<SteadyTraffic> {
  const url = String(program.ready["gateway_url"]);
  const asked = { key, wire: "wire_a", model: "op/model", text: "a" } as const;
  const traffic = new SteadyTraffic(PER_SECOND, () => ask(url, asked));
  onTestFinished(async () => void (await traffic.stop()));
  await expect.poll(() => traffic.count).toBeGreaterThan(SERVED_MIN);
  return traffic;
}

test("the last release serves while newer steps run, and starts again beside the newer program", async () => {
  const { connectionString } = database;
  const fixture = new UpgradeFixture({ connectionString, folder, released });
  const up = async (version: "released" | "own"): Promise<RunningProgram> => {
    const program = await fixture.serve(version);
    onTestFinished(() => void program.process.kill("SIGKILL"));
    return program;
  };
  const old = await up("released");
  const key = await fixture.openAccount();
  const before = await trafficOn(old, key);
  const ran = await fixture.migrate();
  expect(ran.slice(-4).map((name) => name.slice(0, 4))).toEqual(["9001", "9002", "9003", "9004"]);
  const newer = up("own");
  const beside = await trafficOn(await newer, key);
  // The way back: the older program starts on the newer schema, which the newer one has used.
  const again = await up("released");
  const after = await trafficOn(again, key);
  const sent = await Promise.all([before, beside, after].map((traffic) => traffic.stop()));
  expect(problemsOf(sent.flat())).toEqual([]);
  const ends = [old, await newer, again].map((program) => program.end("SIGTERM"));
  expect(await Promise.all(ends)).toEqual([0, 0, 0]);
  for (const audit of await Promise.all([
    fixture.command("released", ["ledger", "audit"]),
    fixture.command("own", ["ledger", "audit"]),
  ])) {
    expect(audit).toMatchObject({ ok: true });
  }
});
