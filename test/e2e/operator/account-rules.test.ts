import { rmSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { AccountRules } from "../../../src/gateway/accounts/account-rules.ts";
import type { KeyId, OrgId } from "../../../src/kernel/core/ids.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import {
  createdKey,
  jsonCommand,
  OPERATOR_ENV,
  type JsonAnswer,
  withOperatorFolder,
} from "../../support/operator.ts";
import { orgWithKey } from "../../support/ledger-rows.ts";
import { runOnce, withBackend } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { testOperator } from "../../support/test-operator.ts";

const NOWHERE = "http://127.0.0.1:1";
const NO_LIMITS = { rpm: null, tpm: null, concurrency: null };

const backend = withBackend();
const folder = withOperatorFolder({ url: NOWHERE });
let orgId: OrgId;
let keyId: KeyId;

beforeEach(async () => {
  ({ orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 5_000_000n }));
});

/** Runs a command that must succeed. */
async function run(...args: readonly string[]): Promise<JsonAnswer["json"]> {
  const { code, json, stderr } = await jsonCommand(args, env());
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return json;
}

/** Runs a command that must be refused; returns its message. */
async function refused(...args: readonly string[]): Promise<string> {
  const all = [...args, "--json"];
  const { code, stdout, stderr } = await runCommand(all, { ...OPERATOR_ENV, ...env() });
  expect({ code, stdout, stderr }).toMatchObject({ code: 2, stdout: "" });
  return stderr;
}

/** Checks that all these calls are refused, each with a message that has its word. */
async function allRefused(
  calls: readonly (readonly [word: string, args: string[]])[],
): Promise<void> {
  for (const [word, args] of calls) expect(await refused(...args)).toContain(word);
}

/** Runs a command without --json. */
async function said(...args: readonly string[]): Promise<string> {
  return (await runCommand(args, { ...OPERATOR_ENV, ...env() })).stdout;
}

const env = () => ({ DATABASE_URL: backend.connectionString });

async function rules(): Promise<AccountRules | undefined> {
  return (await backend.rulesStore.findKey(keyId))?.rules;
}

function writePrivate(providerId: string, change: object = {}): void {
  const manifest = simulatorManifest({
    provider: providerId,
    dialect: "wire_a",
    baseUrl: `${NOWHERE}/v1`,
    isPrivate: true,
    models: [textModel(`${providerId}/model`, change)],
  }) as { readonly endpoint: object };
  folder.writeManifest(`${providerId}.json`, {
    ...manifest,
    endpoint: { ...manifest.endpoint, api_key_env: "NEVER_SET_API_KEY" },
  });
}

describe("endpoint", () => {
  function addArgs(providerId: string): string[] {
    const place = ["--manifests", folder.manifestsDir];
    return ["endpoint", "add", "--org", orgId, "--provider-id", providerId, ...place];
  }

  test("add assigns a private manifest to an organization, list shows it, and remove frees it", async () => {
    // A manifest can be assigned before its key is set and before its listings are ready.
    writePrivate("acme-private", { is_ready: false });
    const limits = ["--rps", "5", "--paced-per-second", "2.5", "--queue-ms", "0", "--rpm", "60"];
    limits.push("--tpm", "9000", "--concurrency", "4");
    const made = await run(...addArgs("acme-private"), ...limits);
    const endpointId = String(made["endpoint_id"]);
    expect(made).toEqual({
      endpoint_id: expect.stringMatching(/^endpoint_/),
      org_id: orgId,
      provider_id: "acme-private",
      rps: 5,
      paced_per_second: 2.5,
      queue_ms: 0,
      rpm: 60,
      tpm: 9000,
      concurrency: 4,
      created_at: expect.stringMatching(/^20.*Z$/),
      manifest_checked: true,
    });
    const stored = {
      requestsPerSecond: 5,
      paced: { perSecond: 2.5, waitMsMax: 0 },
      requestsPerMinute: 60,
      tokensPerMinute: 9_000,
      concurrent: 4,
    };
    const endpoint = { endpointId, providerId: "acme-private", limits: stored };
    expect((await rules())?.endpoints).toEqual([endpoint]);
    const { manifest_checked: _checked, ...listed } = made;
    expect(await run("endpoint", "list", orgId)).toEqual({ endpoints: [listed] });
    expect(await said("endpoint", "list")).toMatch(
      new RegExp(`${endpointId} +${orgId} +acme-private +5 +2.5 +0 +60 +9000 +4 +20`),
    );
    expect(await refused(...addArgs("acme-private"))).toContain(`${endpointId} of ${orgId}`);
    const removed = await run("endpoint", "remove", endpointId);
    expect(removed).toEqual({ endpoint_id: endpointId, removed: true });
    expect((await rules())?.endpoints).toEqual([]);
    expect(await refused("endpoint", "remove", endpointId)).toContain("endpoint list");
  });

  test("add accepts an endpoint without limits, and says if its manifest could not be checked", async () => {
    const elsewhere = { TM_MANIFESTS: join(folder.root, "nowhere") };
    const args = ["endpoint", "add", "--org", orgId, "--provider-id", "free-private"];
    const { json, code } = await jsonCommand(args, { ...env(), ...elsewhere });
    expect(code).toBe(0);
    expect(json).toMatchObject({ ...NO_LIMITS, rps: null, paced_per_second: null, queue_ms: null });
    expect(json["manifest_checked"]).toBe(false);
    expect((await rules())?.endpoints).toMatchObject([{ limits: {} }]);
    expect(await said("endpoint", "list", orgId)).toMatch(/ free-private +- +- +- /);
    await run("endpoint", "remove", String(json["endpoint_id"]));
  });

  test("add refuses a public, missing or broken manifest, wrong numbers and unknown names", async () => {
    expect(await refused(...addArgs("operated"))).toMatch(/public.*"private" in .*first\.json/);
    expect(await refused(...addArgs("nobody"))).toContain("is for provider nobody");
    const nowhere = join(folder.root, "nowhere");
    const place = ["--manifests", nowhere];
    const named = ["endpoint", "add", "--org", orgId, "--provider-id", "x1", ...place];
    expect(await refused(...named)).toContain("check --manifests");
    folder.writeManifest("broken.json", "{");
    expect(await refused(...addArgs("operated"))).toContain("broken.json");
    rmSync(join(folder.manifestsDir, "broken.json"));
    writePrivate("bad-private");
    const bad = (...flags: readonly string[]): string[] => [...addArgs("bad-private"), ...flags];
    await allRefused([
      ["--rps", bad("--rps", "0")],
      ["--paced-per-second", bad("--paced-per-second", "0", "--queue-ms", "5")],
      ["--queue-ms", bad("--queue-ms", "450001", "--paced-per-second", "1")],
      ["belong together", bad("--queue-ms", "5")],
      ["org_none", bad("--org", "org_none")],
      ["org_none", ["endpoint", "list", "org_none"]],
    ]);
    expect(await run("endpoint", "list")).toEqual({ endpoints: [] });
  });
});

describe("limits", () => {
  function contract(scope: string, ...flags: readonly string[]): string[] {
    return ["limits", "contract", "--org", orgId, "--scope", scope, ...flags];
  }

  test("contract stores limits for an organization, every key, one key or one model", async () => {
    const ofKey = ["--key-id", keyId];
    const ofModel = ["--model", "acme/a"];
    for (const [scope, flags, stored] of [
      ["org", ["--rpm", "3000", "--tpm", "5000000"], { rpm: 3000, tpm: 5_000_000 }],
      ["key", ["--rpm", "900"], { rpm: 900 }],
      ["key", [...ofKey, "--concurrency", "32"], { key_id: keyId, concurrency: 32 }],
      ["model", [...ofModel, "--rpm", "5"], { model: "acme/a", rpm: 5 }],
      ["model", [...ofModel, ...ofKey, "--rpm", "4"], { model: "acme/a", key_id: keyId, rpm: 4 }],
    ] as const) {
      const nothing = { source: "contract", scope, key_id: null, model: null, ...NO_LIMITS };
      expect(await run(...contract(scope, ...flags))).toEqual({ ...nothing, ...stored });
    }
    expect((await rules())?.limits).toHaveLength(5);
  });

  test("contract keeps the values that are not named, and 'none' removes a value", async () => {
    await run(...contract("org", "--rpm", "3000", "--concurrency", "64"));
    const changed = await run(...contract("org", "--rpm", "none", "--tpm", "7"));
    expect(changed).toMatchObject({ rpm: null, tpm: 7, concurrency: 64 });
    expect((await rules())?.limits).toEqual([
      { source: "contract", scope: "org", tokensPerMinute: 7, concurrent: 64 },
    ]);
    await run(...contract("org", "--tpm", "none", "--concurrency", "none"));
    expect((await rules())?.limits).toEqual([]);
  });

  test("show lists the effective limits of every scope, and who set them", async () => {
    const own = { source: "self", scope: "key", keyId } as const;
    await backend.rulesStore.changeLimit(orgId, own, { concurrent: 2 }, testOperator);
    await run(...contract("model", "--model", "acme/a", "--rpm", "5"));
    const { rows } = await run("limits", "show", "--org", orgId);
    expect(rows).toMatchObject([
      { scope: "org", model: null },
      { scope: "key", key_id: keyId, concurrency: { own: 2, effective: 2, source: "self" } },
      { scope: "model", model: "acme/a", rpm: { ceiling: 5, effective: 5, source: "contract" } },
    ]);
  });

  test("contract refuses invalid numbers, contradictions and keys of another organization", async () => {
    const { keyId: foreignKey } = await orgWithKey(backend, { creditMicroUsd: 1n });
    await allRefused([
      ["--rpm", contract("org", "--rpm", "0")],
      ["at least one", contract("org")],
      ["key", contract("org", "--key-id", keyId, "--rpm", "1")],
      ["--scope", contract("models", "--model", "acme/a", "--rpm", "1")],
      ["model", contract("key", "--model", "acme/a", "--rpm", "1")],
      ["--model", contract("model", "--model", " ", "--rpm", "1")],
      ["no such key", contract("key", "--key-id", foreignKey, "--rpm", "1")],
      ["no such key", contract("model", "--key-id", foreignKey, "--model", "acme/a", "--rpm", "1")],
      ["org_none", ["limits", "contract", "--org", "org_none", "--scope", "org", "--rpm", "1"]],
      ["org_none", ["limits", "show", "--org", "org_none"]],
    ]);
    expect((await rules())?.limits).toEqual([]);
  });
});

test("org policy sets the whole policy, shows it, clears it, and changes nothing when it is refused", async () => {
  const nothing = { org_id: orgId, policy: null };
  expect(await run("org", "policy", orgId)).toEqual(nothing);
  const lists = ["--only", "acme-ai, other-ai", "--ignore", "bad-ai"];
  const wanted = ["--timeout-ms", "30000", ...lists, "--prompt-logging", "none"];
  const both = { only: ["acme-ai", "other-ai"], ignore: ["bad-ai"] };
  const whole = { timeout_ms: 30_000, ...both, prompt_logging: "none" };
  expect(await run("org", "policy", orgId, ...wanted)).toEqual({ org_id: orgId, policy: whole });
  const stored = { timeoutMs: 30_000, ...both, promptLogging: "none" };
  expect((await rules())?.policy).toEqual(stored);
  expect(await run("org", "policy", orgId, "--ignore", "bad-ai")).toEqual({
    org_id: orgId,
    policy: { timeout_ms: null, only: null, ignore: ["bad-ai"], prompt_logging: null },
  });
  expect(await run("org", "policy", orgId, "--clear")).toEqual(nothing);
  expect((await rules())?.policy).toBeUndefined();
  await run("org", "policy", orgId, "--timeout-ms", "450000");
  const policy = (...flags: readonly string[]): string[] => ["org", "policy", orgId, ...flags];
  await allRefused([
    ["--timeout-ms", policy("--timeout-ms", "450001")],
    ["--only", policy("--only", "acme-ai,-other")],
    ["--prompt-logging", policy("--prompt-logging", "retained")],
    ["--clear", policy("--clear", "--only", "acme-ai")],
    ["org_none", ["org", "policy", "org_none", "--clear"]],
  ]);
  expect((await rules())?.policy).toEqual({ timeoutMs: 450_000 });
});

test("org keys-may-set-limits is switched on and off", async () => {
  const turn = (to: string): Promise<JsonAnswer["json"]> =>
    run("org", "keys-may-set-limits", orgId, to);
  expect(await turn("on")).toEqual({ org_id: orgId, keys_may_set_org_limits: true });
  expect((await rules())?.keysMaySetOrgLimits).toBe(true);
  expect(await turn("off")).toEqual({ org_id: orgId, keys_may_set_org_limits: false });
  expect((await rules())?.keysMaySetOrgLimits).toBe(false);
  await allRefused([
    ["one of on, off", ["org", "keys-may-set-limits", orgId, "perhaps"]],
    ["state", ["org", "keys-may-set-limits", orgId]],
    ["org_none", ["org", "keys-may-set-limits", "org_none", "on"]],
  ]);
});

test("credit grant --is-trial keeps an organization on trial until it is granted credit without the flag", async () => {
  const org = await run("org", "create", "Fresh", "--email", "f@example.com");
  orgId = String(org["org_id"]) as OrgId;
  const key = await run("key", "create", "--org", orgId, "--name", "one");
  keyId = createdKey({ json: key }).keyId as KeyId;
  const gift = ["credit", "grant", "--org", orgId, "--amount-usd", "1", "--ref", `${orgId} gift`];
  const granted = { is_new: true, balance_usd: "1.000000" };
  expect(await run(...gift, "--is-trial")).toEqual(granted);
  expect((await rules())?.isTrial).toBe(true);
  await run("credit", "grant", "--org", orgId, "--amount-usd", "1", "--ref", `${orgId} paid`);
  expect((await rules())?.isTrial).toBe(false);
});

describe("member", () => {
  let acme: OrgId;

  beforeAll(async () => {
    const org = { name: "Acme", email: "ann@example.com" };
    ({ orgId: acme } = await backend.accountStore.createOrg(org, testOperator));
    for (const name of ["ann", "bob"]) {
      await runOnce(
        backend.connectionString,
        `with o as (insert into org (org_id, name, email, email_verified) values ('org_${name}', '${name}', '', true) returning org_id)
        insert into console_account (account_id, org_id, email, email_norm, email_verified_at, created_at)
        select 'acct_${name}', org_id, '${name}@example.com', '${name}@example.com', now(), now() from o`,
      );
    }
  });

  /** Runs a command about members; returns their roles and addresses. */
  async function member(...args: readonly string[]): Promise<unknown> {
    const { json } = await jsonCommand(["member", ...args, "--org", acme], env());
    const members = json["members"] as readonly { readonly email: string; readonly role: string }[];
    return members.map(({ email, role }) => `${role} ${email}`);
  }

  function refusedMember(...args: readonly string[]): Promise<string> {
    return refused("member", ...args, "--org", acme);
  }

  test("an operator can add an owner where none is left, and cannot remove the last one", async () => {
    expect(await member("list")).toEqual([]);
    await member("add", "--email", "Ann@Example.com", "--role", "owner");
    expect(await member("list")).toEqual(["owner ann@example.com"]);
    expect(await refusedMember("remove", "acct_ann")).toContain("needs an owner");
    const demotion = ["role", "acct_ann", "--role", "viewer"];
    expect(await refusedMember(...demotion)).toContain("needs an owner");
    const bob = ["add", "--email", "bob@example.com", "--role", "viewer"];
    await member(...bob);
    expect(await member("list")).toHaveLength(2);
    expect(await member("role", "acct_bob", "--role", "owner")).toContain("owner bob@example.com");
    expect(await member("remove", "acct_ann")).toEqual(["owner bob@example.com"]);
    const eve = ["add", "--email", "eve@example.com", "--role", "viewer"];
    expect(await refusedMember(...eve)).toContain("has signed in yet");
    expect(await refusedMember(...bob)).toContain("is a member already");
    expect(await member("list")).toEqual(["owner bob@example.com"]);
  });

  test("each change of members is in the change log with the operator who made it", async () => {
    const { json } = await jsonCommand(["changes", "list", acme], env());
    const text = JSON.stringify(json);
    for (const action of ["member.join", "member.role", "member.remove"]) {
      expect(text).toContain(action);
    }
    expect(text).toContain('"operator"');
    // The command looks up current addresses; the log itself has ids and masked addresses.
    expect(text).toContain('"target":"acct_ann","target_email":"ann@example.com"');
    const exported = await said("changes", "export", acme);
    expect(exported).toContain("acct_ann");
    expect(exported).not.toContain("ann@example.com");
  });
});
