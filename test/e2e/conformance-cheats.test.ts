import { describe, expect, test } from "vitest";

import { systemClock } from "../../src/kernel/core/time.ts";
import type { CheckId } from "../../src/listing-tools/conformance/report/finding.ts";
import { expectedCosts } from "../../src/listing-tools/conformance/expected-cost.ts";
import { CHEAT_NAMES as NAMES, CHEATS, type NamedCheat } from "../support/cheats/cheats.ts";
import {
  type Host,
  HOSTS,
  manifestAt,
  runAgainst,
  runListing,
} from "../support/conformance-run.ts";
import { isDeep, quickOrDeep } from "../support/depth.ts";
import { tokenPrices, withSimulator } from "../support/gateway.ts";

const CHAT = HOSTS.filter(({ modality }) => modality === "text");

const HONEST_RUNS = quickOrDeep(HOSTS.length, 50);

const [DISHONEST, CLUMSY] = [false, true].map((isHonest) =>
  NAMES.filter((name) => name.startsWith("honest-") === isHonest),
) as [string[], string[]];

/** All cheats; a quick run has the first one of each modality, check and feature. */
const PLAYED = DISHONEST.filter(
  (name, at) => isDeep || DISHONEST.map(kindOf).indexOf(kindOf(name)) === at,
);

describe.concurrent("an honest but clumsy model fails no check", () => {
  test.each(CLUMSY.flatMap(hostsOfClumsy))("%s, $1.name", async (name, host) => {
    const { report } = await runAgainst(host, { fault: `cheat:${name}` });
    const lines = report.models.flatMap(({ checks }) => checks);
    expect(lines.filter(({ status }) => status === "fail" || status === "error")).toEqual([]);
    expect(["pass", "warn"]).toContain(report.verdict);
  });
});

describe.concurrent(
  "a provider that breaks one promise fails the check of that promise, and no other",
  () => {
    test.each(PLAYED)("%s", async (name) => {
      const cheat = CHEATS[name] as NamedCheat;
      const able = HOSTS.filter((host) => isAskedOf(host, cheat));
      expect(able).not.toEqual([]);
      // A quick run picks one host for each cheat, in rotation, so that every host meets some of
      // them.
      const hosts = able.filter((_host, at) => isDeep || at === NAMES.indexOf(name) % able.length);
      const found = await Promise.all(hosts.map((host) => findingsOf(host, name)));
      const [first = "", ...others] = cheat.checks.split(" ");
      const isAmongOthers = others[0] === "and";
      const counted = found.map((ids) => (isAmongOthers ? ids.filter((id) => id === first) : ids));
      expect(counted).toEqual(hosts.map(() => (isAmongOthers ? [first] : [first, ...others])));
    });
  },
);

describe.concurrent(
  "a provider that keeps every promise passes although it is late, slow or busy, and costs what was estimated",
  () => {
    test.each(HOSTS)("$name", async (host) => {
      const runs = HOSTS.indexOf(host) < HONEST_RUNS % HOSTS.length ? SHARE + 1 : SHARE;
      let calls = CALLS_FIRST;
      for (let run = 0; run < runs; run += 1) {
        const busyAt = ((HOSTS.indexOf(host) + run) * STRIDE) % calls;
        const result = await runAgainst(host, {
          fault: "jitter:4;slow_start:400",
          seed: `honest ${run}`,
          rules: [
            ...(busyAt === 0 ? [] : [{ fault: "jitter:4", times: busyAt }]),
            { fault: "status:429;retry_after:0", times: 1 },
          ],
        });
        calls = result.calls;
        expect(unkept(result.report)).toEqual([]);
        expect(result.report.verdict).toBe("pass");
        const spent = Number(result.report.spend_usd);
        expect(expectedUsd(host)).toBeGreaterThan(0.7 * spent);
        expect(expectedUsd(host)).toBeLessThan(1.5 * spent);
      }
    });
  },
);

describe("an example manifest passes conformance against its simulated provider", () => {
  const simulator = withSimulator();

  test.each<[string, string, object?]>([
    ["images-relay", "/imgor/v1", { images_path: "/images/generations" }],
    ["images-ticks", "/imgx/v1"],
    ["videos-relay", "/vidor/v1"],
    ["videos-ticks", "/vidx/v1"],
    ["decisions-systemone", "/sys/v1"],
    ["decisions-per-question", "/pplx/v1"],
    ["decisions-envelope", "/wai/v1"],
    ["decisions-gliner", "/gli/v1"],
  ])("%s", async (name, path, endpoint = {}) => {
    const report = await runListing({
      manifest: `examples/manifests/${name}.json`,
      baseUrl: simulator.url + path,
      endpoint: { ...endpoint },
      decisionsPublicForm: true,
      checks: ["C2", "C4", "C7", "C8", "C10", "C11"],
    });
    expect(unkept(report)).toEqual([]);
    expect(report.verdict).toBe("pass");
  });

  test.each<[string, CheckId]>([
    ["content_type:text/plain", "C2"],
    ['usage:{"output_tokens":1.5}', "C4"],
    ['usage:{"input_tokens":7}', "C4"],
  ])("decisions-systemone with the fault %s fails check %s", async (fault, id) => {
    await fetch(`${simulator.url}/faults`, { method: "DELETE" });
    simulator.script({ fault });
    const report = await runListing({
      manifest: "examples/manifests/decisions-systemone.json",
      baseUrl: `${simulator.url}/sys/v1`,
      decisionsPublicForm: true,
      checks: ["C2", "C4"],
    });
    expect(unkept(report)).toEqual([id]);
  });
});

test("a whole run of a chat listing costs less than a cent at a small model's prices", async () => {
  const small = CHAT.map((host) => ({
    ...host,
    listing: { ...host.listing, pricing: SMALL_MODEL },
  }));
  for (const host of small) expect(expectedUsd(host)).toBeLessThan(0.01);
  const [dearest] = small.toSorted((one, other) => expectedUsd(other) - expectedUsd(one));
  const { report } = await runAgainst(dearest as Host);
  expect(Number(report.spend_usd)).toBeLessThan(0.01);
});

const SMALL_MODEL = tokenPrices({ prompt: "0.15", completion: "0.6" });

function expectedUsd(host: Host): number {
  const outcome = expectedCosts({
    manifestText: manifestAt({ ...host, baseUrl: "http://127.0.0.1:1/v1" }),
    file: host.manifest,
    env: { SIMULATOR_KEY: "a-good-key" },
    clock: systemClock,
    models: [],
  });
  if (!outcome.ok) throw new Error(outcome.problems.join("\n"));
  return Number(outcome.costs.expected_usd);
}

const SHARE = Math.floor(HONEST_RUNS / HOSTS.length);
/** One request of each run gets a 429: from run to run and host to host, one this much later. */
const STRIDE = 7;
const CALLS_FIRST = 3;

/** Returns all chat hosts; in a quick run, the one whose turn it is. */
function hostsOfClumsy(name: string, turn: number): readonly (readonly [string, Host])[] {
  const hosts = CHAT.filter((_host, at) => isDeep || at === turn % CHAT.length);
  return hosts.map((host) => [name, host]);
}

function kindOf(name: string): string {
  const { modalities, checks, needs } = CHEATS[name] as NamedCheat;
  return [modalities[0], checks.split(" ")[0], needs].join();
}

/** True if the host has the feature that the cheat concerns. */
function isAskedOf(
  { modality, lacks = [] }: Host,
  { modalities, needs = "" }: NamedCheat,
): boolean {
  return modalities.includes(modality) && !lacks.includes(needs);
}

async function findingsOf(host: Host, cheat: string): Promise<readonly string[]> {
  const { report } = await runAgainst(host, { fault: `cheat:${cheat}` });
  return unkept(report);
}

function unkept({ models }: Awaited<ReturnType<typeof runAgainst>>["report"]): readonly string[] {
  const lines = models.flatMap(({ checks }) => checks);
  const bad = lines.filter(({ status }) => status !== "pass" && status !== "skip");
  return bad.map(({ id, status, message }) => (status === "fail" ? id : `${id}: ${message}`));
}
