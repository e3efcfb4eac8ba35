import { beforeAll, describe, expect, test } from "vitest";

import { builtProgram } from "../support/build-program.ts";
import { parseOptions } from "./options.ts";
import { planBlows } from "./plan.ts";
import { Dice } from "./seeded.ts";
import { runTorture, type TortureOutcome } from "./torture.ts";

const SEED = 20_260;
const RUN_WITHIN_MS = 300_000;

describe("three gateways on one database under load, killed and frozen and without a database", () => {
  let outcome: TortureOutcome;
  const said: string[] = [];

  beforeAll(async () => {
    const { mainFile } = await builtProgram();
    outcome = await runTorture({
      mainFile,
      seed: SEED,
      instances: 3,
      concurrency: 32,
      kills: 7,
      databaseKills: 2,
      zombies: 1,
      seconds: 0,
      say: (line) => said.push(line),
    });
  }, RUN_WITHIN_MS);

  test("nothing that has to hold is broken", () => {
    const { findings } = outcome;
    const looked = findings.all().map(({ what }) => what.replace(/:.*/, ""));
    expect(looked).toEqual(expect.arrayContaining(["I1", "I2", "I3", "I4", "I5", "I6", "I7"]));
    expect({ broken: findings.violations(), said }).toEqual({ broken: [], said });
  });

  test("the blows were struck, and requests were served before, between and after them", () => {
    const { havoc, tally, answersBeforeTheEnd } = outcome;
    expect(havoc).toMatchObject({ gatewayKills: 5 + 1, databaseKills: 2, zombies: 1 });
    // Nobody is struck before it has served, and the last kill waits until the others serve on.
    expect(answersBeforeTheEnd).toBeGreaterThan(50);
    expect(tally.told.size).toBeGreaterThan(answersBeforeTheEnd);
    expect(tally.broken).toBeGreaterThan(0);
  });

  test("money ran short everywhere: by balance, by an organization's cap, by a key's cap", () => {
    const { tally } = outcome;
    for (const words of [/ org$/, / org cap$/, / key cap$/]) {
      expect(tally.refused(words)).toBeGreaterThan(0);
    }
  });

  test("peers closed what a frozen gateway and a killed one left, at the reserve", () => {
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

describe("the plan", () => {
  const options = { kills: 50, databaseKills: 6, zombies: 5 };

  test("the same seed plans the same blows, another seed others", () => {
    const plan = planBlows(options, new Dice(7));
    expect(plan).toEqual(planBlows(options, new Dice(7)));
    expect(plan).not.toEqual(planBlows(options, new Dice(8)));
    expect(plan.filter(({ kind }) => kind === "gateway")).toHaveLength(44);
    expect(plan.filter(({ kind }) => kind === "database")).toHaveLength(6);
    expect(plan.filter(({ kind }) => kind === "zombie")).toHaveLength(5);
  });

  test("an option that makes no sense is refused by name", () => {
    expect(() => parseOptions(["--kills", "many"])).toThrow("--kills");
    expect(() => parseOptions(["--kills", "3", "--database-kills", "4"])).toThrow(
      "--database-kills",
    );
    expect(() => parseOptions(["--instances", "1"])).toThrow("--instances");
    expect(parseOptions(["--help"])).toBeUndefined();
  });
});
