import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { AttemptId } from "../../../src/kernel/core/ids.ts";
import { systemClock } from "../../../src/kernel/core/time.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { closeRow, orgWithKey, pinPrices, reserveRow } from "../../support/ledger-rows.ts";
import { jsonCommand, operatorFolder, type OperatorFolder } from "../../support/operator.ts";
import { type FreshBackend, freshBackend } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";

let folder: OperatorFolder;
let backend: FreshBackend;
beforeAll(async () => {
  folder = operatorFolder("http://127.0.0.1:1");
  backend = await freshBackend();
});
afterAll(async () => {
  folder.remove();
  await backend.close();
});

function manifestOf(prompt: string, provider = "acme-ai"): object {
  const pricing = [
    { type: "prompt", unit: "token", cost_usd_per_million: prompt },
    { type: "completion", unit: "token", cost_usd_per_million: "10" },
  ];
  const baseUrl = "https://api.example.com/v1";
  const models = [textModel("acme/small", { pricing })];
  return simulatorManifest({ provider, dialect: "wire_a", baseUrl, models });
}

test("a rise answers 1 with model, price and percent, and the way back answers 0", async () => {
  const old = folder.writeManifest("old.txt", manifestOf("1.25"));
  const next = folder.writeManifest("acme.json", manifestOf("1.5"));
  const up = await runCommand(["manifest", "diff", old, next]);
  expect(up).toMatchObject({ code: 1, stderr: "" });
  expect(up.stdout).toContain("acme/small changes (dearer)");
  expect(up.stdout).toContain("  prompt: 1.25 → 1.5  +20 %\n");
  expect(await runCommand(["manifest", "diff", next, old])).toMatchObject({ code: 0 });
});

test("the second manifest is the folder's one of that provider, whatever its file is called", async () => {
  const old = folder.writeManifest("old.txt", manifestOf("1.25"));
  folder.writeManifest("acme.json", manifestOf("1.5"));
  folder.writeManifest("broken.json", "{");
  const { code, json } = await jsonCommand(
    ["manifest", "diff", old, "--manifests", folder.manifestsDir],
    {},
  );
  expect(code).toBe(1);
  expect(json).toMatchObject({
    ok: false,
    provider: "acme-ai",
    files: { new: join(folder.manifestsDir, "acme.json") },
    counts: { dearer: 1, cheaper: 0 },
    models: [{ model: "acme/small", prices: [{ sku: "prompt", percent: "+20" }, {}, {}, {}] }],
  });
});

test("what cannot be compared is a wrong call that says why", async () => {
  const old = folder.writeManifest("old.txt", manifestOf("1.25"));
  const other = folder.writeManifest("other.txt", manifestOf("1", "other-ai"));
  const invalid = folder.writeManifest("invalid.txt", { manifest_version: "2" });
  for (const [args, message] of [
    [[old, other], /is of acme-ai and .*other\.txt of other-ai/],
    [[old, invalid], /invalid\.txt\/manifest_version: manifest_version must be/],
    [[old, "nowhere.json"], /nowhere\.json: there is no such file/],
    [[other, "--manifests", folder.manifestsDir], /has no manifest of other-ai/],
    [[old, old, "--traffic", "0"], /--traffic must be a whole number from 1 to 366/],
  ] as const) {
    const { code, stdout, stderr } = await runCommand(["manifest", "diff", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
  }
});

test("the tokens of the last days are priced at both, for each organization", async () => {
  await pinPrices(backend);
  const member = await backend.ledgerBatchStore.join("diff", 3_600_000);
  const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  const today = new Date(systemClock.nowMs()).toISOString().slice(0, 10);
  await backend.query("select ensure_attempt_partition($1)", [today]);
  const attemptId = (BigInt(systemClock.nowMs() - Date.UTC(2025, 0, 1)) << 22n) as AttemptId;
  const row = reserveRow({ orgId, keyId, attemptId }, 1_000n);
  await backend.ledgerBatchStore.reserveBatch(member, [{ row, close: null }]);
  // 3,000,000 of prompt, cached and written tokens together, 10 of output.
  const usage = {
    prompt: 1_000_000,
    cachedPrompt: 500_000,
    cacheWrite: 1_500_000,
    completion: 7,
    internalReasoning: 3,
  };
  await backend.ledgerBatchStore.closeBatch([closeRow(attemptId, 900n, { usage })]);
  const old = folder.writeManifest("old.txt", manifestOf("1.25"));
  const next = folder.writeManifest("next.txt", manifestOf("1.5"));
  const env = { DATABASE_URL: backend.connectionString };
  const { code, json } = await jsonCommand(["manifest", "diff", old, next, "--traffic", "2"], env);
  const cost = {
    old_usd: "3.750100",
    new_usd: "4.500100",
    more_usd: "0.750000",
    later_usd: "4.500100",
    more_later_usd: "0.750000",
  };
  expect(code).toBe(1);
  expect(json["traffic"]).toMatchObject({
    days: 2,
    organizations: [{ org_id: orgId, ...cost }],
    total: cost,
    not_priced: [],
    at_lowest_tier: [],
  });
  const { stdout } = await runCommand(["manifest", "diff", old, next, "--traffic", "2"], env);
  expect(stdout).toContain(`${orgId}: 3.750100 → 4.500100 USD (0.750000 more)`);
});
