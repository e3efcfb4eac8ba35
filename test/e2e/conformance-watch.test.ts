import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { at } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { httpCall } from "../support/http-call.ts";
import {
  OPERATOR_ENV,
  operatorFolder,
  type OperatorFolder,
  operatorManifest,
} from "../support/operator.ts";
import { freshBackend, type FreshBackend } from "../support/postgres.ts";
import { runCommand, spawnCommand } from "../support/program.ts";
import { withSimulator } from "../support/gateway.ts";

const simulator = withSimulator();
let folder: OperatorFolder;
let backend: FreshBackend;
beforeEach(async () => {
  folder = operatorFolder(simulator.url);
  backend = await freshBackend();
});
afterEach(async () => {
  await fetch(`${simulator.url}/faults`, { method: "DELETE" });
  folder.remove();
  await backend.close();
});

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

async function calls(): Promise<number> {
  return Number(at((await httpCall(`${simulator.url}/calls`)).json, "total"));
}

/** Makes the recorded verdicts and runs older by `hours`. */
async function age(hours: number): Promise<void> {
  const by = `- interval '${hours} hours'`;
  await backend.query(`update listing_verdict set checked_at = checked_at ${by}`);
  await backend.query(`update watched_run set started_at = started_at ${by}`);
}

const WEEK_HOURS = 168;

describe("watch --once", () => {
  test("runs and records a listing that was never checked, and ends", async () => {
    const { code, runs, events } = await once();
    expect(runs).toEqual([
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
    expect(code).toBe(0);
    expect(events.map(({ event }) => event)).toEqual(["run", "waiting", "ended"]);
    const [stored] = await backend.verdictStore.latest();
    expect(stored).toMatchObject({ modelId: "op/model", verdict: "pass", source: "watch" });
    expect(stored?.checks).toHaveLength(12);
  });

  test("calls no listing that is not due, and says when the next one is", async () => {
    await once();
    await age(24);
    const before = await calls();
    const { code, runs, events } = await once();
    expect({ code, runs }).toEqual({ code: 0, runs: [] });
    const nextMs = Date.parse(String(events[0]?.["next_at"]));
    expect(nextMs).toBeGreaterThan(Date.now());
    expect(nextMs).toBeLessThanOrEqual(Date.now() + 6 * 86_400_000);
    expect(await calls()).toBe(before);
  });

  test("runs a listing again when its last run is an interval old", async () => {
    await once();
    await age(WEEK_HOURS);
    const { runs } = await once();
    expect(runs.map(({ reason }) => reason)).toEqual(["interval"]);
    const listing = { providerId: "operated", modelId: "op/model" };
    expect(await backend.verdictStore.history(listing)).toHaveLength(2);
    await age(12);
    expect((await once("--every", "12h")).runs).toHaveLength(1);
  });

  test("runs a suspect listing at once, and a run that passes ends the suspicion", async () => {
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
    await backend.verdictStore.suspect({ providerId: "operated", modelId: "op/model" }, breaches);
    const { runs } = await once();
    expect(runs).toEqual([expect.objectContaining({ reason: "suspect", verdict: "pass" })]);
    expect(await backend.verdictStore.suspects()).toEqual([]);
  });

  test("runs a suspect listing that fails only once", async () => {
    await once();
    simulator.script({ fault: "model_echo:cheaper" });
    const listing = { providerId: "operated", modelId: "op/model" };
    await backend.query(
      "insert into suspect_listing (provider_id, model_id, breaches) values ($1, $2, '{}')",
      [listing.providerId, listing.modelId],
    );
    const failed = await once();
    expect(failed.runs).toEqual([expect.objectContaining({ reason: "suspect", verdict: "fail" })]);
    expect(failed.runs[0]?.["failed"]).toEqual([expect.stringMatching(/^C7 /)]);
    expect(failed.code).toBe(1);
    expect(await backend.verdictStore.suspects()).toEqual([expect.objectContaining(listing)]);
    expect((await once()).runs).toEqual([]);
  });

  test("runs a listing again when its manifest has changed", async () => {
    await once();
    const manifest = { ...operatorManifest(simulator.url, ["op/model"]), note: "another text" };
    folder.writeManifest("first.json", manifest);
    const { runs } = await once();
    expect(runs.map(({ reason }) => reason)).toEqual(["changed"]);
    expect((await once()).runs).toEqual([]);
  });

  test("skips a listing that no server would route", async () => {
    const models = ["op/model", "op/staged"];
    const manifest = JSON.parse(JSON.stringify(operatorManifest(simulator.url, models))) as {
      models: Record<string, unknown>[];
    };
    Object.assign(manifest.models[1] ?? {}, { is_ready: false });
    folder.writeManifest("first.json", manifest);
    expect((await once()).runs.map(({ model }) => model)).toEqual(["op/model"]);
    const before = await calls();
    const { code, stdout } = await runCommand(args("--once"), { ...env(), TEST_PROVIDER_KEY: "" });
    expect({ code, events: eventsIn(stdout).map(({ event }) => event) }).toEqual({
      code: 0,
      events: ["waiting", "ended"],
    });
    expect(await calls()).toBe(before);
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
    const before = await calls();
    const { code, events } = await once();
    expect(code).toBe(3);
    expect(events[0]).toMatchObject({
      event: "problem",
      message: expect.stringContaining("second.json"),
    });
    expect(await calls()).toBe(before);
  });
});

describe("the budget of an interval", () => {
  test("is not exceeded: listings that are due wait, and the log says so", async () => {
    folder.writeManifest("first.json", operatorManifest(simulator.url, ["op/a", "op/b", "op/c"]));
    const amounts = ["--budget-usd", "0.05", "--interval-budget-usd", "0.0600"];
    const { code, runs, events } = await once(...amounts);
    expect(runs.length).toBeGreaterThan(0);
    expect(runs.length).toBeLessThan(3);
    expect(code).toBe(2);
    const spent = runs.map(({ spend_usd: usd }) => Number(usd)).reduce((a, b) => a + b);
    expect(spent).toBeGreaterThan(0.01);
    expect(spent).toBeLessThanOrEqual(0.06);
    const last = events.at(-2);
    expect(last).toMatchObject({
      event: "over_budget",
      due: 3 - runs.length,
      interval_spend_usd: spent.toFixed(6),
      interval_budget_usd: "0.060000",
    });
    // Another process counts the spend of this one until the interval ends.
    const before = await calls();
    expect((await once(...amounts)).runs).toEqual([]);
    expect(await calls()).toBe(before);
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
    ["--budget-usd", "much"],
    ["--interval-budget-usd", "0.5"],
    ["--timeout", "0"],
  ])("%s %s is a wrong call", async (flag, value) => {
    const { code, stdout, stderr } = await runCommand(args("--once", flag, value), env());
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(flag);
  });
});

describe("several watches of one installation", () => {
  test("run each listing once", async () => {
    const models = ["op/a", "op/b"];
    folder.writeManifest("first.json", operatorManifest(simulator.url, models));
    const watches = await Promise.all([once(), once(), once()]);
    const ran = watches.flatMap(({ runs }) => runs.map(({ model }) => String(model)));
    expect(ran.toSorted()).toEqual(models);
    for (const modelId of models) {
      expect(await backend.verdictStore.history({ providerId: "operated", modelId })).toHaveLength(
        1,
      );
    }
    expect(watches.map(({ code }) => code)).toEqual([0, 0, 0]);
  });
});

describe("a watch that keeps running", () => {
  test("waits when nothing is due, and exits with 0 at SIGTERM", async () => {
    const running = await spawnCommand(args(), env());
    await until("nothing is due", () => running.stdout().includes('"waiting"'));
    expect(await running.end("SIGTERM")).toBe(0);
    const events = eventsIn(running.stdout()).map(({ event }) => event);
    expect(events).toEqual(["run", "waiting", "ended"]);
  });

  test("ends a run at SIGINT, records nothing, and the listing stays due", async () => {
    simulator.script({ fault: "hang:headers" });
    const before = await calls();
    const running = await spawnCommand(args(), env());
    await until("it asks", async () => (await calls()) > before);
    expect(await running.end("SIGINT")).toBe(0);
    expect(eventsIn(running.stdout()).map(({ event }) => event)).toEqual(["ended"]);
    expect(await backend.verdictStore.latest()).toEqual([]);
    await fetch(`${simulator.url}/faults`, { method: "DELETE" });
    expect((await once()).runs).toEqual([expect.objectContaining({ verdict: "pass" })]);
  });
});
