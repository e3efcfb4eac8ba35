import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, expect, test } from "vitest";

import { ask, at, get } from "../../support/ask.ts";
import { brokenBooks, callUntil } from "../../support/books.ts";
import { withGateway, withAccount } from "../../support/gateway.ts";
import { jsonCommand, OPERATOR_ENV, type JsonAnswer } from "../../support/operator.ts";
import { killCommand, runCommand } from "../../support/program.ts";
import { runSql } from "../../support/sql.ts";
import { testOperator } from "../../support/test-operator.ts";
import { newFolder } from "../../support/run-folder.ts";

const DAY_MS = 86_400_000;
/** How many days ago the first requests of this test were made. */
const AGO_DAYS = 100;

const gateway = withGateway();
const account = withAccount(gateway, "5.00");
const neighbour = withAccount(gateway, "5.00");
const root = newFolder("retire");
let env: Readonly<Record<string, string>>;
let oldIds: readonly string[];
let newId: string;
let oldDay: string;

beforeAll(async () => {
  env = { DATABASE_URL: gateway.config.databaseUrl, TM_DATA: join(root, "data") };
  oldIds = [await served("test/a"), await served("test/b"), await served("test/a")];
  oldDay = await makeOld();
  newId = await served("test/a");
});

async function served(model: string): Promise<string> {
  const { key } = account;
  const answer = await ask(gateway.url, { key, wire: "wire_a", model, text: "hello" });
  expect(answer.status).toBe(200);
  return answer.requestId;
}

/** Dates all requests so far `AGO_DAYS` days back, and settles them with their providers. */
async function makeOld(): Promise<string> {
  const then = new Date(Date.now() - AGO_DAYS * DAY_MS).toISOString().slice(0, 10);
  // With noon as their time, all of them stay within one day.
  const noon = `'${then}T12:00Z'`;
  const id = `attempt_id_at(${noon}) + attempt_id - (select min(attempt_id) from attempt)`;
  const steps = [
    `select ensure_attempt_partition('${then}')`,
    "set session_replication_role = replica",
    `update transfer set attempt_id = ${id} where attempt_id is not null`,
    `update attempt set attempt_id = ${id}, created_at = ${noon}, closed_at = ${noon}`,
  ];
  await runSql(gateway, steps.join(";"), []);
  await gateway.backend.settlementStore.closeDuePeriods({ listed: new Map() }, testOperator);
  // A new partition makes the database replan, so the first reserve may time out.
  const { key } = neighbour;
  await callUntil(
    "the journal answers again",
    () => ask(gateway.url, { key, wire: "wire_a", model: "test/a", text: "hello" }),
    ({ status }) => status === 200,
  );
  return then;
}

const retire = ["ledger", "retire", "--older-than-days", "30"];

const retiredDir = join(root, "data", "retired");
const keyFile = join(root, "data", "retention-signing-key.pem");

function command(args: readonly string[]): Promise<JsonAnswer> {
  return jsonCommand(args, env);
}

async function expectExactBooks(): Promise<void> {
  expect(await brokenBooks(gateway)).toEqual([]);
}

test("ledger retire changes nothing while no day is old enough, or when retention is off", async () => {
  const [young, wrong, off] = await Promise.all([
    command(["ledger", "retire", "--older-than-days", "200"]),
    runCommand(["ledger", "retire", "--older-than-days", "0"], env),
    jsonCommand(["ledger", "retire"], { ...env, TM_RETENTION_ATTEMPTS_DAYS: "0" }),
  ]);
  expect(young).toMatchObject({ code: 0, json: { ok: true, retired: [], stopped: null } });
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr).toContain("--older-than-days");
  expect(off).toMatchObject({ code: 0, json: { ok: true, retired: [] } });
});

test("ledger retire keeps a day whose monthly statement cannot be closed, and says why", async () => {
  const month = oldDay.slice(0, 7);
  await runSql(
    gateway,
    `update org set created_at = '${oldDay}' where org_id = '${account.orgId}';
    create function refuse_statement() returns trigger language plpgsql
      as 'begin raise ''no statement today''; end';
    create trigger refused before insert on org_statement
      for each row execute function refuse_statement();`,
    [],
  );
  const stays = await command(retire);
  expect(stays).toMatchObject({ code: 1, json: { ok: false, retired: [] } });
  expect(at(stays.json, "stopped", "reason")).toContain(`the monthly statements of ${month} are`);
  expect(stays.stderr).toContain(`the statement of ${account.orgId} for ${month}`);
  expect(stays.stderr).toContain("no statement today");
  await runSql(
    gateway,
    `drop function refuse_statement cascade;
    update org_statement_pass set until_at = '-infinity'`,
    [],
  );
});

test("ledger retire that was killed between its steps completes when it is run again", async () => {
  await expectExactBooks();
  const killed: string[] = [];
  for (const word of [": exported", ": retired"]) {
    const { stderr } = await killCommand([...retire, "--drop"], { ...OPERATOR_ENV, ...env }, word);
    expect(stderr).toContain(word);
    killed.push(stderr);
    await expectExactBooks();
  }
  const last = await command([...retire, "--drop"]);
  expect(last).toMatchObject({ code: 0, json: { ok: true, stopped: null, kept: [] } });
  const again = await command([...retire, "--drop"]);
  expect(again.json).toMatchObject({ ok: true, retired: [], dropped: [] });
  expect(again.json["folder"]).toBe(retiredDir);
  const files = ["csv.gz", "json"].map((kind) => `attempt-${oldDay}.${kind}`);
  expect(readdirSync(retiredDir).sort()).toEqual(files);
  expect(await command(["ledger", "audit"])).toMatchObject({ code: 0, json: { ok: true } });

  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  const secret = readFileSync(keyFile, "utf8").split("\n")[1] ?? "no key";
  for (const text of [...killed, last.stderr, last.stdout]) expect(text).not.toContain(secret);
});

test("after ledger retire, verify-export accepts the export, and refuses a changed one", async () => {
  const file = join(retiredDir, `attempt-${oldDay}.json`);
  const verify = ["ledger", "verify-export", file];
  const good = await command(verify);
  expect(good).toMatchObject({ code: 0, json: { ok: true, day: oldDay } });
  expect(JSON.stringify(good.json["checks"])).toContain("3 attempts, digest and sums agree");

  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace('"attempts": "3"', '"attempts": "4"'));
  const changed = await command(verify);
  expect(changed).toMatchObject({ code: 1, json: { ok: false } });
  writeFileSync(file, text);
  const stranger = { ...env, TM_DATA: join(root, "elsewhere") };
  const [unknown, known, missing] = await Promise.all([
    jsonCommand(verify, stranger),
    jsonCommand([...verify, "--public-key", keyFile], stranger),
    runCommand(["ledger", "verify-export", join(root, "none.json")], env),
  ]);
  expect([unknown.code, known.code, missing.code]).toEqual([1, 0, 2]);
});

test("after ledger retire, settlement attempts exits with 2 for a retired day, and leaves no file", async () => {
  const out = join(root, "attempts.csv");
  const [period] = await gateway.backend.settlementStore.periods();
  const named = [String(period?.providerId), new Date(period?.startMs ?? 0).toISOString()];
  const attempts = ["settlement", "attempts", ...named, "--out", out];
  const stderr = expect.stringMatching(/journal has/);
  expect(await runCommand(attempts, env)).toMatchObject({ code: 2, stderr });
  expect(existsSync(out)).toBe(false);
});

test("retired requests are a 404 for customers, kept ones are shown, and the balance stays", async () => {
  const { key } = account;
  for (const id of oldIds) {
    const answer = await get(gateway.url, { key, path: `/v1/generation?id=${id}` });
    expect(answer.status).toBe(404);
  }
  const kept = await get(gateway.url, { key, path: `/v1/generation?id=${newId}` });
  expect(kept.status).toBe(200);
  const { json } = await get(gateway.url, { key, path: "/v1/usage" });
  expect(at(json, "data")).toMatchObject([{ request_id: newId }]);
  const csv = await get(gateway.url, { key, path: "/v1/usage?format=csv" });
  expect(csv.text.split("\r\n").slice(1)).toEqual([expect.stringContaining(newId), ""]);
  // Four requests were paid for, and the balance includes the retired ones.
  const cost = Number(at(kept.json, "data", "cost_micro_usd"));
  expect(at(json, "balance", "settled_micro_usd")).toBe(5_000_000 - 4 * cost);
  expect(await served("test/b")).toBeDefined();
});
