import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { httpCall } from "../../support/http-call.ts";
import {
  jsonCommand,
  OPERATOR_ENV,
  operatorFolder,
  type OperatorFolder,
  operatorManifest,
} from "../../support/operator.ts";
import { freshBackend, type FreshBackend } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { withSimulator } from "../../support/gateway.ts";

const simulator = withSimulator();
let folder: OperatorFolder;
let backend: FreshBackend;
beforeEach(async () => {
  folder = operatorFolder(simulator.url);
  backend = await freshBackend();
});
afterEach(async () => {
  folder.remove();
  await backend.close();
});

/** The manifest of a provider whose prices were checked on a day. */
function checkedManifest(on: string): object {
  const terms = { "op/model": { checked: { on, by: "page" } } };
  return { ...operatorManifest(simulator.url, ["op/model"]), listing_terms: terms };
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

async function verify(): Promise<void> {
  const args = ["conformance", "watch", "--once", "--manifests", folder.manifestsDir];
  const env = { ...OPERATOR_ENV, DATABASE_URL: backend.connectionString };
  expect(await runCommand(args, env)).toMatchObject({ code: 0 });
}

async function makeOlder(days: number): Promise<void> {
  const by = `interval '${days} days'`;
  await backend.query(`update listing_verdict set checked_at = checked_at - ${by}`);
}

test("doctor reports that all is well, calls no provider, and exits with 0", async () => {
  await verify();
  const { json: before } = await httpCall(`${simulator.url}/calls`);
  const { code, json, checks } = await doctor();
  expect({ code, ok: json["ok"], warnings: json["warnings"] }).toEqual({
    code: 0,
    ok: true,
    warnings: 0,
  });
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
  const WATCH = "run `tokenmarket conformance watch --once`";
  const change = {
    expired: () => makeOlder(31),
    soon: () => makeOlder(24),
    notSoon: () => makeOlder(22),
    failed: () => backend.query("update listing_verdict set verdict = 'fail'"),
    unchecked: () => backend.query("delete from listing_verdict"),
    suspect: () =>
      backend.query(
        "insert into suspect_listing (provider_id, model_id, breaches) values ('operated', 'op/model', '{}')",
      ),
    changed: () => {
      const manifest = { ...operatorManifest(simulator.url, ["op/model"]), note: "new" };
      folder.writeManifest("first.json", manifest);
    },
  };
  const RUN = /run `tokenmarket conformance run \S+\/first\.json --models op\/model --record`/;

  test.each<[keyof typeof change, string, string | RegExp]>([
    ["unchecked", "listings never checked", WATCH],
    ["failed", "listings that failed", RUN],
    ["suspect", "listings suspect", RUN],
    ["changed", "listings changed since their run", WATCH],
    ["expired", "listings expired", WATCH],
    ["soon", "listings that expire within 7 days", WATCH],
  ])("about a listing that is %s", async (name, id, repair) => {
    await verify();
    await change[name]();
    const { code, bad, json } = await doctor();
    expect(bad.map((each) => each.id)).toEqual([id]);
    expect(bad[0]?.level).toBe("warning");
    expect(bad[0]?.detail).toContain("operated/op/model");
    expect(bad[0]?.detail).toMatch(repair);
    expect({ code, ok: json["ok"], warnings: json["warnings"] }).toEqual({
      code: 0,
      ok: true,
      warnings: 1,
    });
  });

  test("not about a listing that is verified for eight more days", async () => {
    await verify();
    await change.notSoon();
    expect((await doctor()).bad).toEqual([]);
  });

  test("about a provider without a key, by the name of its variable", async () => {
    const { code, bad } = await doctor({ TEST_PROVIDER_KEY: "" });
    expect(code).toBe(0);
    expect(bad.map(({ id, level }) => `${level} ${id}`)).toEqual(["warning provider keys"]);
    expect(bad[0]?.detail).toContain("TEST_PROVIDER_KEY");
  });

  test("about paused automatic top-ups by reason, with their number and the oldest", async () => {
    await verify();
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
    expect(bad).toEqual([
      {
        id: "automatic top-up",
        level: "warning",
        ok: true,
        detail:
          "paused: 2 card_declined (the oldest since 2026-05-01T00:00:00.000Z), 1 operator (the oldest " +
          "since 2026-05-03T00:00:00.000Z); `tokenmarket topup list` names the organizations",
        facts: {
          paused: [
            { reason: "card_declined", count: 2, oldest_at: "2026-05-01T00:00:00.000Z" },
            { reason: "operator", count: 1, oldest_at: "2026-05-03T00:00:00.000Z" },
          ],
        },
      },
    ]);
  });

  test("about a listing that require_verified hides from customers", async () => {
    const { bad } = await doctor({ TM_CATALOG_REQUIRE_VERIFIED: "1" });
    expect(bad[0]?.detail).toContain("not routed while require_verified is set");
  });
});

describe("doctor exits with 1", () => {
  test("for an invalid manifest, and still runs the other checks", async () => {
    folder.writeManifest("second.json", "{");
    const { code, bad, checks } = await doctor();
    expect(code).toBe(1);
    expect(bad).toEqual([
      expect.objectContaining({ id: "manifests", level: "problem", detail: expect.any(String) }),
    ]);
    expect(bad[0]?.detail).toContain("second.json");
    expect(checks.map(({ id }) => id)).toContain("books");
  });

  test("for a database that does not answer", async () => {
    const { code, bad } = await doctor({ DATABASE_URL: "postgres://me:secretword@127.0.0.1:1/x" });
    expect(code).toBe(1);
    expect(bad).toEqual([expect.objectContaining({ id: "database", level: "problem" })]);
    expect(bad[0]?.detail).toContain("check DATABASE_URL");
    expect(bad[0]?.detail).not.toContain("secretword");
  });

  test("for a schema of another version, and names the command to run", async () => {
    await backend.query("delete from schema_step where name = 'functions'");
    const { code, bad } = await doctor();
    expect(code).toBe(1);
    expect(bad.map(({ id }) => id)).toEqual(["database"]);
    expect(bad[0]?.detail).toContain("`tokenmarket migrate`");
  });

  test("for a configuration with a wrong value, and names that value's setting", async () => {
    const file = join(folder.root, "wrong.yaml");
    writeFileSync(file, "port: many\n");
    const { code, json } = await jsonCommand(["doctor", "--config", file]);
    expect(code).toBe(1);
    expect(json["checks"]).toEqual([
      { id: "configuration", level: "problem", ok: false, detail: expect.stringContaining("port") },
    ]);
  });
});

test("doctor prints a line for each check", async () => {
  const args = ["doctor", "--manifests", folder.manifestsDir];
  const env = { ...OPERATOR_ENV, DATABASE_URL: backend.connectionString };
  const { code, stdout } = await runCommand(args, env);
  expect(code).toBe(0);
  const lines = stdout.trim().split("\n");
  expect(lines).toContainEqual(expect.stringMatching(/^ok {7}books {2}they balance$/));
  expect(lines.at(-1)).toMatch(/^warning {2}listings never checked {2}operated\/op\/model; run /);
});

test("doctor warns about prices that were checked over 45 days ago, and exits with 0", async () => {
  folder.writeManifest("first.json", checkedManifest("2026-01-01"));
  const { code, bad } = await doctor(OPERATOR_ENV);
  expect(code).toBe(0);
  expect(bad.find(({ id }) => id === "price checks")).toEqual(
    expect.objectContaining({
      level: "warning",
      detail: expect.stringMatching(
        /operated\/op\/model \(2026-01-01\).*manifest refresh/,
      ) as string,
    }),
  );
  folder.writeManifest("first.json", checkedManifest(new Date().toISOString().slice(0, 10)));
  const { checks } = await doctor(OPERATOR_ENV);
  expect(checks.find(({ id }) => id === "price checks")).toMatchObject({ level: "ok" });
});

test("doctor does not report the age of prices while nothing is routed", async () => {
  const manifest = checkedManifest("2026-01-01") as { models: object[] };
  const models = manifest.models.map((model) => ({ ...model, is_ready: false }));
  folder.writeManifest("first.json", { ...manifest, models });
  const { checks } = await doctor(OPERATOR_ENV);
  expect(checks.filter(({ id }) => id === "price checks")).toEqual([]);
  expect(checks.find(({ id }) => id === "staged providers")?.detail).toMatch(
    /^nothing of operated is ready; .*catalog build/,
  );
});

test("doctor names a listing that is sold below what its provider is owed", async () => {
  const manifest = operatorManifest(simulator.url, ["op/model"]) as {
    models: { pricing: { cost_usd_per_million: string }[] }[];
  };
  const [model] = manifest.models;
  const dearer = model?.pricing.map((each) => ({ ...each, cost_usd_per_million: "999" }));
  const terms = { "op/model": { purchase_pricing: dearer } };
  folder.writeManifest("first.json", { ...manifest, listing_terms: terms });
  const { code, bad } = await doctor(OPERATOR_ENV);
  expect(code).toBe(0);
  expect(bad.find(({ id }) => id === "prices below cost")?.detail).toMatch(
    /operated\/op\/model; raise their pricing/,
  );
});
