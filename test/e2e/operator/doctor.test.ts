import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { pricing } from "../../fixtures/manifest/samples.ts";
import { httpCall } from "../../support/http-call.ts";
import {
  jsonCommand,
  OPERATOR_ENV,
  operatorManifest,
  withOperatorFolder,
} from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { withSimulator } from "../../support/gateway.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const backend = withBackend();
const manifest = () => operatorManifest(simulator.url, ["op/model"]);
beforeEach(() => void folder.writeManifest("first.json", manifest()));

/** The manifest of a provider whose prices were checked on a day. */
function checkedManifest(on: string): object {
  const terms = { "op/model": { checked: { on, by: "page" } } };
  return { ...manifest(), listing_terms: terms };
}

interface Check {
  readonly id: string;
  readonly level: string;
  readonly detail: string;
}

async function doctor(env: Readonly<Record<string, string>> = {}) {
  const args = ["doctor", "--manifests", folder.manifestsDir];
  const place = { DATABASE_URL: backend.connectionString, ...env };
  const { code, json } = await jsonCommand(args, place);
  const checks = json["checks"] as readonly Check[];
  const bad = checks.filter(({ level }) => level !== "ok");
  return { code, json, checks, bad };
}

const WATCH = "run `tokenmarket conformance watch --once`";
const RUN = /run `tokenmarket conformance run \S+\/first\.json --models op\/model --record`/;

test("doctor and catalog build say which manifest the server leaves out for its private address", async () => {
  const settings = { TM_ALLOW_PRIVATE_UPSTREAMS: "0" };
  const { code, bad } = await doctor(settings);
  expect(code).toBe(0);
  const why = "is left out: its address is private; TM_ALLOW_PRIVATE_UPSTREAMS=1 allows it";
  const detail = expect.stringContaining(why);
  expect(bad).toContainEqual(expect.objectContaining({ id: "manifests", detail }));
  const build = ["catalog", "build", "--manifests", folder.manifestsDir];
  const { json } = await jsonCommand(build, settings);
  expect(json).toMatchObject({ models: 0, left_out: ["first.json"] });
});

test("doctor prints a line for each check, and warns about a listing that was never checked", async () => {
  const { bad } = await doctor();
  expect(bad).toMatchObject([{ id: "listings never checked", level: "warning" }]);
  expect(bad[0]?.detail).toContain(WATCH);
  const hidden = await doctor({ TM_CATALOG_REQUIRE_VERIFIED: "1" });
  expect(hidden.bad[0]?.detail).toContain("not routed while require_verified is set");
  const args = ["doctor", "--manifests", folder.manifestsDir];
  const env = { ...OPERATOR_ENV, DATABASE_URL: backend.connectionString };
  const { code, stdout } = await runCommand(args, env);
  expect(code).toBe(0);
  const lines = stdout.trim().split("\n");
  expect(lines).toContainEqual(expect.stringMatching(/^ok {7}books {2}they balance$/));
  expect(lines.at(-1)).toMatch(/^warning {2}listings never checked {2}operated\/op\/model; run /);
});

test("doctor reports that all is well, calls no provider, and exits with 0", async () => {
  const args = ["conformance", "watch", "--once", "--manifests", folder.manifestsDir];
  const env = { ...OPERATOR_ENV, DATABASE_URL: backend.connectionString };
  expect(await runCommand(args, env)).toMatchObject({ code: 0 });
  const { json: before } = await httpCall(`${simulator.url}/calls`);
  const { code, json, checks } = await doctor();
  expect({ code, json }).toMatchObject({ code: 0, json: { ok: true, warnings: 0 } });
  expect(checks.map(({ id, level }) => `${level} ${id}`)).toEqual([
    "ok node",
    "ok configuration",
    "ok database TLS",
    "ok manifests",
    "ok provider keys",
    "ok database",
    "ok database settings",
    "ok books",
    "ok usage reports",
    "ok listings",
  ]);
  expect((await httpCall(`${simulator.url}/calls`)).json).toEqual(before);
});

describe("doctor exits with 0 and warns", () => {
  const checked = (days: number): string =>
    `update listing_verdict set checked_at = checked_at - interval '${days} days'`;
  const suspect =
    "insert into suspect_listing (provider_id, model_id, breaches) values ('operated', 'op/model', '{}')";

  test.each([
    {
      what: "failed its conformance run",
      change: "update listing_verdict set verdict = 'fail'",
      undo: "update listing_verdict set verdict = 'pass'",
      id: "listings that failed",
      repair: RUN,
    },
    {
      what: "is suspect",
      change: suspect,
      undo: "delete from suspect_listing",
      id: "listings suspect",
      repair: RUN,
    },
    {
      what: "was verified 31 days ago",
      change: checked(31),
      undo: checked(-31),
      id: "listings expired",
      repair: WATCH,
    },
    {
      what: "is verified for only six more days",
      change: checked(24),
      undo: checked(-24),
      id: "listings that expire within 7 days",
      repair: WATCH,
    },
  ])("about a listing that $what", async ({ change, undo, id, repair }) => {
    await backend.query(change);
    onTestFinished(() => backend.query(undo).then(() => undefined));
    const { code, bad, json } = await doctor();
    expect(bad).toMatchObject([{ id, level: "warning", detail: expect.stringMatching(repair) }]);
    expect(bad[0]?.detail).toContain("operated/op/model");
    expect({ code, json }).toMatchObject({ code: 0, json: { ok: true, warnings: 1 } });
  });

  test("about a listing changed since its run, and not about one that is verified for eight more days", async () => {
    folder.writeManifest("first.json", { ...manifest(), note: "new" });
    const { bad } = await doctor();
    expect(bad).toMatchObject([{ id: "listings changed since their run", level: "warning" }]);
    expect(bad[0]?.detail).toContain(WATCH);
    folder.writeManifest("first.json", manifest());
    await backend.query(checked(22));
    onTestFinished(() => backend.query(checked(-22)).then(() => undefined));
    expect((await doctor()).bad).toEqual([]);
  });

  test("about a provider without a key, by the name of its variable", async () => {
    const { code, bad } = await doctor({ TEST_PROVIDER_KEY: "" });
    expect(code).toBe(0);
    expect(bad).toMatchObject([{ id: "provider keys", level: "warning" }]);
    expect(bad[0]?.detail).toContain("TEST_PROVIDER_KEY");
  });

  test("about paused automatic top-ups by reason, with their number and the oldest", async () => {
    onTestFinished(() => backend.query("delete from top_up_rule").then(() => undefined));
    await backend.query(`
      insert into org (org_id, name, email, email_verified)
      select 'org_' || n, 'Acme', 'a@example.com', true from generate_series(1, 4) as n`);
    await backend.query(`
      insert into top_up_rule (org_id, is_on, below, amount, month_max, paused_at, paused_reason)
      values ('org_1', false, 1, 10000, 10000, '2026-05-02T00:00Z', 'card_declined'),
        ('org_2', false, 1, 10000, 10000, '2026-05-01T00:00Z', 'card_declined'),
        ('org_3', false, 1, 10000, 10000, '2026-05-03T00:00Z', 'operator'),
        ('org_4', true, 1, 10000, 10000, null, null)`);
    const { code, bad } = await doctor();
    expect(code).toBe(0);
    const detail =
      "paused: 2 card_declined (the oldest since 2026-05-01T00:00:00.000Z), 1 operator (the oldest " +
      "since 2026-05-03T00:00:00.000Z); `tokenmarket topup list` names the organizations";
    const paused = [
      { reason: "card_declined", count: 2, oldest_at: "2026-05-01T00:00:00.000Z" },
      { reason: "operator", count: 1, oldest_at: "2026-05-03T00:00:00.000Z" },
    ];
    const id = "automatic top-up";
    expect(bad).toEqual([{ id, level: "warning", ok: true, detail, facts: { paused } }]);
  });

  test("about automatic top-ups that wait for the recovery of payments, if there are payments", async () => {
    onTestFinished(() => backend.query("delete from billing_schedule").then(() => undefined));
    const at = "2026-05-01T00:00:00.000Z";
    await backend.query("insert into billing_schedule values ('recovery', $1)", [at]);
    const id = "automatic top-up";
    expect((await doctor()).bad).not.toContainEqual(expect.objectContaining({ id }));
    const { code, bad } = await doctor({ STRIPE_SECRET_KEY: "sk_test_1" });
    expect(code).toBe(0);
    const detail = `none starts until \`tokenmarket billing recover --since ${at}\` ends without failures`;
    expect(bad).toContainEqual({ id, level: "warning", ok: true, detail });
  });

  test("about prices that were checked over 45 days ago", async () => {
    folder.writeManifest("first.json", checkedManifest("2026-01-01"));
    const { code, bad } = await doctor();
    expect(code).toBe(0);
    expect(bad.find(({ id }) => id === "price checks")).toMatchObject({
      level: "warning",
      detail: expect.stringMatching(/operated\/op\/model \(2026-01-01\).*manifest refresh/),
    });
    folder.writeManifest("first.json", checkedManifest(new Date().toISOString().slice(0, 10)));
    const { checks } = await doctor();
    expect(checks.find(({ id }) => id === "price checks")).toMatchObject({ level: "ok" });
  });

  test("not about the age of prices while nothing is routed", async () => {
    const old = checkedManifest("2026-01-01") as { models: object[] };
    const models = old.models.map((model) => ({ ...model, is_ready: false }));
    folder.writeManifest("first.json", { ...old, models });
    const { checks } = await doctor();
    expect(checks.filter(({ id }) => id === "price checks")).toEqual([]);
    expect(checks.find(({ id }) => id === "staged providers")?.detail).toMatch(
      /^nothing of operated is ready; .*catalog build/,
    );
  });

  test("about a listing that is sold below what its provider is owed", async () => {
    const terms = {
      "op/model": { purchase_pricing: pricing({ prompt: "999", completion: "999" }) },
    };
    folder.writeManifest("first.json", { ...manifest(), listing_terms: terms });
    const { code, bad } = await doctor();
    expect(code).toBe(0);
    expect(bad.find(({ id }) => id === "prices below cost")?.detail).toMatch(
      /operated\/op\/model; raise their pricing/,
    );
  });
});

describe("doctor exits with 1", () => {
  test("for an invalid manifest, and still runs the other checks", async () => {
    const second = folder.writeManifest("second.json", "{");
    onTestFinished(() => rmSync(second));
    const { code, bad, checks } = await doctor();
    expect(code).toBe(1);
    const detail = expect.stringContaining("second.json");
    expect(bad).toEqual([expect.objectContaining({ id: "manifests", level: "problem", detail })]);
    expect(checks.map(({ id }) => id)).toContain("books");
  });

  test("for a database that does not answer", async () => {
    const { code, bad } = await doctor({ DATABASE_URL: "postgres://me:secretword@127.0.0.1:1/x" });
    expect(code).toBe(1);
    expect(bad).toEqual([expect.objectContaining({ id: "database", level: "problem" })]);
    expect(bad[0]?.detail).toContain("check DATABASE_URL");
    expect(bad[0]?.detail).not.toContain("secretword");
  });

  test("for a configuration with a wrong value, and names that value's setting", async () => {
    const file = join(folder.root, "wrong.yaml");
    writeFileSync(file, "port: many\n");
    const { code, json } = await jsonCommand(["doctor", "--config", file]);
    expect(code).toBe(1);
    const detail = expect.stringContaining("port");
    const check = { id: "configuration", level: "problem", ok: false, detail };
    expect(json["checks"]).toEqual([check]);
  });
});
