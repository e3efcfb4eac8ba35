import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, expect, test } from "vitest";

import { ask, at, get } from "../../support/ask.ts";
import { nothingHeld } from "../../support/books.ts";
import { withGateway } from "../../support/gateway.ts";
import { jsonCommand, operatorManifest, OPERATOR_ENV } from "../../support/operator.ts";
import { runCommand, type CommandResult } from "../../support/program.ts";
import { serveYesterday, YESTERDAY } from "../../support/served-yesterday.ts";
import { newFolder } from "../../support/run-folder.ts";

const PROVIDER = "operated";
const PERIOD = [PROVIDER, YESTERDAY.slice(0, 10)];

const gateway = withGateway({ manifests: [operatorManifest("{simulator}", ["op/model"])] });
/** The folder for the providers' statements. */
const folder = newFolder("settlement");
let env: Readonly<Record<string, string>>;
/** The micro-dollars that the answers reported as their cost. */
let reported = 0n;

beforeAll(async () => {
  env = { DATABASE_URL: gateway.config.databaseUrl };
  await serveOneDay();
});

/** Makes one request that fails and three that are answered, and dates them to yesterday. */
async function serveOneDay(): Promise<void> {
  const unlucky = await gateway.account("5");
  gateway.simulator.script({ model: "op/model", fault: "status:500", times: 1 });
  const asked = { wire: "wire_a", model: "op/model", text: "this one fails" } as const;
  await ask(gateway.url, { ...asked, key: unlucky.key });
  await nothingHeld(gateway, unlucky);
  const texts = ["one", "two words", "three more words"];
  const { key } = await serveYesterday(gateway, "op/model", texts);
  const { json } = await get(gateway.url, { key, path: "/v1/usage" });
  for (const row of at(json, "data") as readonly unknown[]) {
    reported += BigInt(Number(at(row, "cost_micro_usd")));
  }
}

function settlement(...args: readonly string[]): ReturnType<typeof jsonCommand> {
  return jsonCommand(["settlement", ...args], env);
}

function settlementText(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(["settlement", ...args], { ...OPERATOR_ENV, ...env });
}

let statement: Readonly<Record<string, unknown>>;

test("settlement refuses a manifests folder that a setting names and that does not exist, as the server does", async () => {
  const args = ["settlement", "close", "--json"];
  const elsewhere = { ...OPERATOR_ENV, ...env, TM_MANIFESTS: join(folder, "nowhere") };
  const { code, stdout, stderr } = await runCommand(args, elsewhere);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("nowhere: there is no such folder");
});

test("settlement closes ended periods by the terms of the manifest, and nothing the second time", async () => {
  const close = ["close", "--manifests", gateway.config.manifestsDir];
  const { code, json } = await settlement(...close);
  expect(code).toBe(0);
  const closed = json["closed"] as readonly Record<string, unknown>[];
  expect(closed).toHaveLength(1);
  statement = closed[0] ?? {};
  expect(statement).toMatchObject({
    provider: PROVIDER,
    start: YESTERDAY,
    mode: "arrears",
    interval: "daily",
    state: "closed",
    attempts: 4,
    settled_attempts: 3,
    void_attempts: 1,
    unknown: { attempts: 0, charged_usd: "0.000000" },
    overrun_usd: "0.000000",
    carry_in_usd: "0.000000000000",
    payment: null,
  });
  expect(json["unlisted"]).toEqual([]);
  const again = await settlementText(...close);
  expect(again.code).toBe(0);
  expect(again.stdout).toMatch(/^closed_count +0\nsettled_through +20.*Z\n\nclosed:\nnone\n/);
  // The provider is owed what the customers were charged, plus what rounding left over.
  const micro = (name: string): bigint => BigInt(String(statement[name]).replace(".", ""));
  expect(reported).toBeGreaterThan(0n);
  expect(micro("debit_usd")).toBe(reported);
  expect(micro("payable_usd")).toBe(reported + micro("rounding_usd"));
  expect(micro("payable_usd") * 1_000_000n + micro("carry_out_usd")).toBe(micro("cost_usd"));
});

test("settlement shows the statement as it was closed, and lists every period and balance", async () => {
  const [shown, text, listed, csv] = await Promise.all([
    settlement("show", ...PERIOD),
    settlementText("show", ...PERIOD),
    settlement("list", PROVIDER),
    settlementText("list", "--csv"),
  ]);
  expect(shown.code).toBe(0);
  expect(shown.json).toMatchObject({
    period: statement,
    models: [{ model: "op/model", upstream_model: "op/model", attempts: 4 }],
  });
  expect(text.stdout).toMatch(
    new RegExp(`\\nperiod.payable_usd +${String(statement["payable_usd"])}\\n`),
  );
  expect(listed.json["periods"]).toEqual([
    expect.objectContaining({ start: YESTERDAY, payable_usd: statement["payable_usd"] }),
  ]);
  expect(listed.json["balances"]).toMatchObject([
    { provider: PROVIDER, accrued_usd: "0.000000", payable_usd: statement["payable_usd"] },
  ]);
  expect(csv.stdout.split("\n")).toEqual([
    "provider,start,end,mode,interval,state,attempts,cost_usd,debit_usd,overrun_usd,margin_usd,rounding_usd,payable_usd",
    expect.stringMatching(`^${PROVIDER},${YESTERDAY},.*,arrears,daily,closed,4,`),
    "",
  ]);
});

test("settlement lists one line for every call to the provider, and reconcile finds the lines equal", async () => {
  const { code, stdout } = await settlementText("attempts", ...PERIOD);
  expect(code).toBe(0);
  const [header, ...lines] = stdout.trimEnd().split("\n");
  expect(header?.split(",").slice(0, 2)).toEqual(["attempt_id", "request_id"]);
  const asked = gateway.simulator.calls().map((call) => call.headers["x-client-request-id"]);
  expect(asked).toHaveLength(4);
  expect(new Set(lines.map((line) => line.split(",")[0]))).toEqual(new Set(asked));
  const file = join(folder, "ours.csv");
  writeFileSync(file, stdout);
  const same = await settlement("reconcile", ...PERIOD, "--statement", file);
  expect(same.code).toBe(0);
  expect(same.json).toMatchObject({
    is_equal: true,
    their_usd: statement["cost_usd"],
    our_usd: statement["cost_usd"],
    difference_usd: "0.000000000000",
    lines: { compared: 4, differing: 0, only_theirs: 0, only_ours: 0, unknown_claimed: 0 },
    first_differences: [],
  });
});

test("settlement reconcile exits with 1 when lines differ", async () => {
  const total = join(folder, "theirs.json");
  const lines = [{ attempt_id: 17, cost_usd: 0.5 }];
  writeFileSync(total, JSON.stringify({ total_usd: "0.75", lines }));
  const found = await settlement("reconcile", ...PERIOD, "--statement", total);
  expect(found.code).toBe(1);
  expect(found.json).toMatchObject({
    is_equal: false,
    their_usd: "0.750000000000",
    their_lines_usd: "0.500000000000",
    lines: { compared: 1, only_theirs: 1, only_ours: 3 },
  });
});

test("settlement records a period's payment once, and a deposit in the provider's balance", async () => {
  const paid = await settlement("pay", ...PERIOD, "--ref", "wire-1");
  expect(paid.json).toMatchObject({
    is_new: true,
    period: { state: "paid", payment: { ref: "wire-1" } },
  });
  const [again, put] = await Promise.all([
    settlement("pay", ...PERIOD, "--ref", "wire-1"),
    settlement("deposit", "prepaid-ai", "--amount-usd", "500", "--ref", "wire-3"),
  ]);
  expect(again.json).toEqual({ ...paid.json, is_new: false });
  const other = await settlementText("pay", ...PERIOD, "--ref", "wire-2");
  expect(other).toMatchObject({ code: 2, stdout: "" });
  expect(other.stderr).toContain("was paid with wire-1");
  expect(put.json).toMatchObject({ is_new: true, deposit_usd: "500.000000" });
  const [listed, audit] = await Promise.all([
    settlement("list"),
    jsonCommand(["ledger", "audit"], env),
  ]);
  expect(listed.json["balances"]).toEqual([
    expect.objectContaining({ provider: PROVIDER, payable_usd: "0.000000" }),
    expect.objectContaining({ provider: "prepaid-ai", deposit_usd: "500.000000" }),
  ]);
  expect(audit.json["ok"]).toBe(true);
});

test("settlement exits with 2 for a wrong call, a sentence on standard error, nothing on standard output", async () => {
  const bad = join(folder, "bad.csv");
  writeFileSync(bad, "attempt_id,cost_usd\n1,0.5\n2,half\n");
  const wrong: readonly (readonly [string, readonly string[]])[] = [
    ["--until must be a day", ["close", "--until", "2026-02-30"]],
    ["no such closed period", ["show", PROVIDER, "2001-01-01T12:00Z"]],
    ["--json give --out", ["attempts", ...PERIOD, "--json"]],
    ["line 3: cost_usd", ["reconcile", ...PERIOD, "--statement", bad]],
  ];
  for (const [said, args] of wrong) {
    const { code, stdout, stderr } = await settlementText(...args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
    expect(stderr).toContain(said);
  }
});
