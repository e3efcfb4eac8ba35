import { beforeAll, describe, expect, test } from "vitest";

import { builtProgram } from "../support/build-program.ts";
import { seedOf } from "../support/depth.ts";
import { parseOptions } from "./options.ts";
import { planBlows } from "./plan.ts";
import { Random } from "../simulation/random.ts";
import { runTorture, type TortureOutcome } from "./torture.ts";

const RUN_WITHIN_MS = 300_000;
const CONCURRENCY = 16;
/** Descriptions of refusals by a balance, by an organization's cap and by a key's cap. */
const SHORT_OF_MONEY = [/ org$/, / org cap$/, / key cap$/] as const;

describe("two gateways under load, of which one is killed and whose database is killed", () => {
  let outcome: TortureOutcome;
  const said: string[] = [];

  beforeAll(async () => {
    const { mainFile } = await builtProgram();
    outcome = await runTorture({
      mainFile,
      seed: seedOf("torture"),
      instances: 2,
      concurrency: CONCURRENCY,
      kills: 2,
      databaseKills: 1,
      zombies: 0,
      seconds: 0,
      // The peers of a killed gateway wait for the end of its lease; only the deep run has time.
      lastKill: false,
      isEnough: (tally) => SHORT_OF_MONEY.every((words) => tally.refused(words) > 0),
      say: (line) => said.push(line),
    });
  }, RUN_WITHIN_MS);

  test("break none of the invariants I1 to I7 of money and books", () => {
    const { findings } = outcome;
    const looked = findings.all().map(({ what }) => what.replace(/:.*/, ""));
    expect(looked).toEqual(expect.arrayContaining(["I1", "I2", "I3", "I4", "I5", "I6", "I7"]));
    expect({ broken: findings.violations(), said }).toEqual({ broken: [], said });
  });

  test("are hit by the planned kills, and serve before and after them", () => {
    const { havoc, tally, answersBeforeTheEnd } = outcome;
    expect(havoc).toMatchObject({ gatewayKills: 1, databaseKills: 1, zombies: 0 });
    // A gateway is killed only after it has served.
    expect(answersBeforeTheEnd).toBeGreaterThanOrEqual(CONCURRENCY / 2);
    expect(tally.reported.size).toBeGreaterThan(answersBeforeTheEnd);
  });

  test("refuse requests for the balance, the organization's cap and the key's cap", () => {
    const { tally } = outcome;
    for (const words of SHORT_OF_MONEY) expect(tally.refused(words)).toBeGreaterThan(0);
  });
});

describe("the plan of a torture run", () => {
  const options = { kills: 50, databaseKills: 6, zombies: 5 };

  test("is the same for the same seed, and different for another", () => {
    const plan = planBlows(options, new Random(7));
    expect(plan).toEqual(planBlows(options, new Random(7)));
    expect(plan).not.toEqual(planBlows(options, new Random(8)));
    expect(plan.filter(({ kind }) => kind === "gateway")).toHaveLength(44);
    expect(plan.filter(({ kind }) => kind === "database")).toHaveLength(6);
    expect(plan.filter(({ kind }) => kind === "zombie")).toHaveLength(5);
  });

  test("is refused for an invalid option, which the message names", () => {
    expect(() => parseOptions(["--kills", "many"])).toThrow("--kills");
    expect(() => parseOptions(["--kills", "3", "--database-kills", "4"])).toThrow(
      "--database-kills",
    );
    expect(() => parseOptions(["--instances", "1"])).toThrow("--instances");
    expect(parseOptions(["--help"])).toBeUndefined();
  });
});
