import { beforeAll, describe, expect, test } from "vitest";

import { builtProgram } from "../support/build-program.ts";
import { seedOf } from "../support/depth.ts";
import { runTorture, type TortureOutcome } from "./torture.ts";

const RUN_WITHIN_MS = 300_000;

describe("three gateways under load that are killed, frozen and left without a database", () => {
  let outcome: TortureOutcome;
  const said: string[] = [];

  beforeAll(async () => {
    const { mainFile } = await builtProgram();
    outcome = await runTorture({
      mainFile,
      seed: seedOf("torture"),
      instances: 3,
      concurrency: 32,
      kills: 7,
      databaseKills: 2,
      zombies: 1,
      seconds: 0,
      lastKill: true,
      say: (line) => said.push(line),
    });
  }, RUN_WITHIN_MS);

  test("break none of the invariants I1 to I7 of money and books", () => {
    const { findings } = outcome;
    const looked = findings.all().map(({ what }) => what.replace(/:.*/, ""));
    expect(looked).toEqual(expect.arrayContaining(["I1", "I2", "I3", "I4", "I5", "I6", "I7"]));
    expect({ broken: findings.violations(), said }).toEqual({ broken: [], said });
  });

  test("are hit by the planned kills and pauses, and serve before and after them", () => {
    const { havoc, tally, answersBeforeTheEnd } = outcome;
    expect(havoc).toMatchObject({ gatewayKills: 5 + 1, databaseKills: 2, zombies: 1 });
    // A gateway is killed or paused only after it has served; the others serve after the last kill.
    expect(answersBeforeTheEnd).toBeGreaterThan(50);
    expect(tally.reported.size).toBeGreaterThan(answersBeforeTheEnd);
    expect(tally.broken).toBeGreaterThan(0);
  });

  test("refuse some requests for each reason: too little balance, the organization's cap, the key's cap", () => {
    const { tally } = outcome;
    for (const words of [/ org$/, / org cap$/, / key cap$/]) {
      expect(tally.refused(words)).toBeGreaterThan(0);
    }
  });

  test("leave open attempts, which their peers charge at the reserve", () => {
    const { havoc, journal } = outcome;
    expect(havoc.takeOvers.map(({ how }) => how)).toEqual(["frozen", "killed"]);
    expect(havoc.takeOvers[0]?.open).toBeGreaterThan(0);
    const charged = [...journal.attempts.values()].filter(
      ({ state, isCorrected }) => state === "unknown_after_crash" && !isCorrected,
    );
    expect(charged.length).toBeGreaterThan(0);
    expect(charged.filter(({ debit, reserve }) => debit !== reserve)).toEqual([]);
  });
});
