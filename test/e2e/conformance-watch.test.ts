import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { until } from "../support/books.ts";
import {
  OPERATOR_ENV,
  operatorFolder,
  type OperatorFolder,
  operatorManifest,
} from "../support/operator.ts";
import { withBackend } from "../support/postgres.ts";
import { runCommand, spawnCommand } from "../support/program.ts";
import { withSimulator } from "../support/gateway.ts";

const simulator = withSimulator();
const backend = withBackend();
let folder: OperatorFolder;
beforeEach(async () => {
  folder = operatorFolder(simulator.url);
  await backend.query("truncate listing_verdict, suspect_listing, watched_run");
});
afterEach(async () => {
  await fetch(`${simulator.url}/faults`, { method: "DELETE" });
  folder.remove();
});

const LISTING = { providerId: "operated", modelId: "op/model" };

type Event = Readonly<Record<string, unknown>>;

function env(): Readonly<Record<string, string>> {
  return { ...OPERATOR_ENV, DATABASE_URL: backend.connectionString };
}

function args(...more: readonly string[]): readonly string[] {
  return ["conformance", "watch", "--manifests", folder.manifestsDir, "--json", ...more];
}

async function once(...more: readonly string[]) {
  const { code, stdout, stderr } = await runCommand(args("--once", ...more), env());
  const events = eventsIn(stdout);
  return { code, stderr, events, runs: events.filter(({ event }) => event === "run") };
}

function eventsIn(text: string): readonly Event[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Event);
}

function calls(): number {
  return simulator.counts().total;
}

/** Makes the recorded verdicts and runs older by `hours`. */
async function age(hours: number): Promise<void> {
  const by = `- interval '${hours} hours'`;
  await backend.query(`update listing_verdict set checked_at = checked_at ${by}`);
  await backend.query(`update watched_run set started_at = started_at ${by}`);
}

const WEEK_HOURS = 168;

describe("watch --once", () => {
  test("runs and records a listing that was never checked, and again when it is due", async () => {
    const first = await once();
    expect(first.runs).toEqual([
      expect.objectContaining({
        provider: "operated",
        model: "op/model",
        reason: "unchecked",
        verdict: "pass",
        recorded: true,
        failed: [],
        due: 0,
      }),
    ]);
    expect(first.code).toBe(0);
    expect(first.events.map(({ event }) => event)).toEqual(["run", "waiting", "ended"]);
    const [stored] = await backend.verdictStore.history(LISTING);
    expect(stored).toMatchObject({ modelId: "op/model", verdict: "pass", source: "watch" });
    expect(stored?.checks).toHaveLength(12);

    await age(24);
    const before = calls();
    const { code, runs, events } = await once();
    expect({ code, runs }).toEqual({ code: 0, runs: [] });
    const nextMs = Date.parse(String(events[0]?.["next_at"]));
    expect(nextMs).toBeGreaterThan(Date.now());
    expect(nextMs).toBeLessThanOrEqual(Date.now() + 6 * 86_400_000);
    expect(calls()).toBe(before);

    expect((await once("--every", "12h")).runs.map(({ reason }) => reason)).toEqual(["interval"]);
    expect(await backend.verdictStore.history(LISTING)).toHaveLength(2);

    const manifest = { ...operatorManifest(simulator.url, ["op/model"]), note: "another text" };
    folder.writeManifest("first.json", manifest);
    expect((await once()).runs.map(({ reason }) => reason)).toEqual(["changed"]);
    expect((await once()).runs).toEqual([]);
  });

  test("runs a suspect listing once, and a run that passes ends the suspicion", async () => {
    await once();
    const breaches = {
      answers: 200,
      substituted: 9,
      usageMissing: 0,
      usageImpossible: 0,
      boundExceeded: 0,
      wrongFinish: 0,
      unreadable: 0,
    };
    await backend.verdictStore.suspect(LISTING, breaches);
    simulator.script({ fault: "model_echo:cheaper" });
    const failed = await once();
    expect(failed.runs).toEqual([expect.objectContaining({ reason: "suspect", verdict: "fail" })]);
    expect(failed.runs[0]?.["failed"]).toEqual([expect.stringMatching(/^C7 /)]);
    expect(failed.code).toBe(1);
    expect(await backend.verdictStore.suspects()).toEqual([expect.objectContaining(LISTING)]);
    expect((await once()).runs).toEqual([]);
    await fetch(`${simulator.url}/faults`, { method: "DELETE" });
    await age(WEEK_HOURS);
    expect((await once()).runs).toEqual([expect.objectContaining({ verdict: "pass" })]);
    expect(await backend.verdictStore.suspects()).toEqual([]);
  });

  test("skips a listing that is not ready or whose provider key is missing", async () => {
    const models = ["op/model", "op/staged"];
    const manifest = JSON.parse(JSON.stringify(operatorManifest(simulator.url, models))) as {
      models: Record<string, unknown>[];
    };
    Object.assign(manifest.models[1] ?? {}, { is_ready: false });
    folder.writeManifest("first.json", manifest);
    expect((await once()).runs.map(({ model }) => model)).toEqual(["op/model"]);
    const before = calls();
    const { code, stdout } = await runCommand(args("--once"), { ...env(), TEST_PROVIDER_KEY: "" });
    expect({ code, events: eventsIn(stdout).map(({ event }) => event) }).toEqual({
      code: 0,
      events: ["waiting", "ended"],
    });
    expect(calls()).toBe(before);
  });

  test("exits with 2 for an unreachable listing, and tries it again a day later", async () => {
    folder.writeManifest("first.json", operatorManifest("http://127.0.0.1:1", ["op/model"]));
    const { code, runs } = await once();
    expect(runs).toEqual([expect.objectContaining({ verdict: "inconclusive", recorded: true })]);
    expect(code).toBe(2);
    await age(23);
    expect((await once()).runs).toEqual([]);
    await age(1);
    expect((await once()).runs).toEqual([expect.objectContaining({ reason: "retry" })]);
  });

  test("exits with 3 for invalid manifests, and calls no provider", async () => {
    folder.writeManifest("second.json", "{");
    const before = calls();
    const { code, events } = await once();
    expect(code).toBe(3);
    expect(events[0]).toMatchObject({
      event: "problem",
      message: expect.stringContaining("second.json"),
    });
    expect(calls()).toBe(before);
  });
});

test("a manifest that vanishes before it is read is a problem of its step, and not the end", async () => {
  // The link's target vanished, so the folder lists a file that cannot be read.
  symlinkSync(join(folder.root, "gone.json"), join(folder.manifestsDir, "gone.json"));
  const { code, events, stderr } = await once();
  expect(events[0]).toMatchObject({
    event: "problem",
    message: expect.stringContaining("gone.json"),
  });
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.not.stringContaining("gone.json") });
});

describe("the budget of an interval", () => {
  test("is not exceeded: listings that are due wait, and the log says so", async () => {
    folder.writeManifest("first.json", operatorManifest(simulator.url, ["op/a", "op/b"]));
    const amounts = ["--budget-usd", "0.05", "--interval-budget-usd", "0.0600"];
    const { code, runs, events } = await once(...amounts);
    expect(runs).toHaveLength(1);
    expect(code).toBe(2);
    const spent = Number(runs[0]?.["spend_usd"]);
    expect(spent).toBeGreaterThan(0.01);
    expect(spent).toBeLessThanOrEqual(0.06);
    expect(events.at(-2)).toMatchObject({
      event: "over_budget",
      due: 1,
      interval_spend_usd: spent.toFixed(6),
      interval_budget_usd: "0.060000",
    });
    // Another process counts this one's spend against the budget until the interval ends.
    const before = calls();
    expect((await once(...amounts)).runs).toEqual([]);
    expect(calls()).toBe(before);
    await age(WEEK_HOURS);
    expect((await once(...amounts)).runs.length).toBeGreaterThan(0);
  });

  test("counts a run whose process died at its whole budget, and repeats it a day later", async () => {
    await backend.query(
      "insert into watched_run (provider_id, model_id, budget) values ('operated', 'op/model', 500000)",
    );
    const { runs, events } = await once();
    expect(runs).toEqual([]);
    expect(events[0]).toMatchObject({ event: "waiting", interval_spend_usd: "0.500000" });
    await age(24);
    expect((await once()).runs).toEqual([expect.objectContaining({ reason: "retry" })]);
  });

  test.each([
    ["--every", "5m"],
    ["--every", "never"],
    ["--interval-budget-usd", "0.5"],
  ])("the option %s %s is refused with exit code 2", async (flag, value) => {
    const { code, stdout, stderr } = await runCommand(args("--once", flag, value), env());
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(flag);
  });
});

test("several watches of one installation run each listing once", async () => {
  const models = ["op/a", "op/b"];
  folder.writeManifest("first.json", operatorManifest(simulator.url, models));
  const watches = await Promise.all([once(), once(), once()]);
  const ran = watches.flatMap(({ runs }) => runs.map(({ model }) => String(model)));
  expect(ran.toSorted()).toEqual(models);
  for (const modelId of models) {
    expect(await backend.verdictStore.history({ ...LISTING, modelId })).toHaveLength(1);
  }
  expect(watches.map(({ code }) => code)).toEqual([0, 0, 0]);
});

test("each run of a watch has the key that its file has then, as a server has", async () => {
  folder.writeManifest("first.json", operatorManifest(simulator.url, ["op/a", "op/b"]));
  const keyFile = join(folder.root, "key");
  writeFileSync(keyFile, "the-first-key-0123456789\n");
  // The first call is answered late enough for the file to be replaced meanwhile.
  simulator.script({ fault: "slow:2000", times: 1 });
  const before = calls();
  const keys = { TEST_PROVIDER_KEY: "", TEST_PROVIDER_KEY_FILE: keyFile };
  const watching = runCommand(args("--once"), { ...env(), ...keys });
  await until("it asks", () => calls() > before);
  // The simulated provider refuses a key with this word.
  writeFileSync(keyFile, "an-invalid-key-0123456789\n");
  const { code, stdout } = await watching;
  const runs = eventsIn(stdout).filter(({ event }) => event === "run");
  expect(runs).toMatchObject([
    { verdict: "pass", failed: [] },
    { verdict: "fail", failed: [expect.stringMatching(/^C1 .*own key is refused/)] },
  ]);
  expect(code).toBe(1);
});

test("a new manifest takes over no key from another provider during a watch", async () => {
  folder.writeManifest("first.json", operatorManifest(simulator.url, ["op/a", "op/b"]));
  // The first call is answered late enough for the manifest to be written meanwhile.
  simulator.script({ fault: "slow:2000", times: 1 });
  const before = calls();
  const watching = once();
  await until("it asks", () => calls() > before);
  const elsewhere = simulator.url.replace("127.0.0.1", "localhost");
  const taker = JSON.stringify(operatorManifest(elsewhere, ["op/c"]));
  folder.writeManifest("a-taker.json", taker.replaceAll('"operated"', '"taker"'));
  const { runs } = await watching;
  const checked = runs.map(({ provider, model }) => `${String(provider)} ${String(model)}`);
  expect(checked.toSorted()).toEqual(["operated op/a", "operated op/b"]);
});

test("a watch that a signal ends during a run records nothing, and the next watch runs the listing", async () => {
  simulator.script({ fault: "hang:headers" });
  const before = calls();
  const interrupted = await spawnCommand(args(), env());
  await until("it asks", () => calls() > before);
  expect(await interrupted.end("SIGINT")).toBe(0);
  expect(eventsIn(interrupted.stdout()).map(({ event }) => event)).toEqual(["ended"]);
  expect(await backend.verdictStore.history(LISTING)).toEqual([]);

  await fetch(`${simulator.url}/faults`, { method: "DELETE" });
  const waiting = await spawnCommand(args(), env());
  await until("nothing is due", () => waiting.stdout().includes('"waiting"'));
  expect(await waiting.end("SIGTERM")).toBe(0);
  const events = eventsIn(waiting.stdout()).map(({ event }) => event);
  expect(events).toEqual(["run", "waiting", "ended"]);
});
