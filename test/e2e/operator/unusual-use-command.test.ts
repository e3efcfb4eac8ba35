import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { CallFamily } from "../../../src/formats/index.ts";
import type { OrgId } from "../../../src/kernel/core/ids.ts";
import {
  openPostgresBackend,
  type PostgresBackend,
} from "../../../src/app/open-postgres-backend.ts";
import { jsonCommand, OPERATOR_ENV } from "../../support/operator.ts";
import { freshDatabase, type FreshDatabase } from "../../support/postgres.ts";
import { runCommand, runProgram, type CommandResult } from "../../support/program.ts";
import { silentLog } from "../../support/silent-log.ts";
import { testOperator } from "../../support/test-operator.ts";

let database: FreshDatabase;
let backend: PostgresBackend;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  database = await freshDatabase();
  env = { DATABASE_URL: database.connectionString };
  backend = openPostgresBackend({ ...database, log: silentLog });
});
afterAll(async () => {
  await backend.close();
  await database.drop();
});

/** A trial organization that was found out in these kinds of requests. */
async function heldOrg(...families: readonly CallFamily[]): Promise<OrgId> {
  const org = await backend.accountStore.createOrg(
    { name: "Trial", email: "t@example.com" },
    testOperator,
  );
  for (const family of families) {
    await backend.usageHoldStore.record({
      orgId: org.orgId,
      family,
      reason: "refused_requests 200 in 300 s",
      ageMs: 1_000,
      limitedMs: 600_000,
      repeatMs: 86_400_000,
    });
  }
  return org.orgId;
}

function asText(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(["unusual-use", ...args], { ...OPERATOR_ENV, ...env });
}

describe("unusual-use list", () => {
  test("shows what is held, why and until when, for all organizations or for one", async () => {
    const [orgId, other] = [await heldOrg("chat"), await heldOrg("videos")];
    const hold = {
      org_id: orgId,
      org_name: "Trial",
      family: "chat",
      state: "limited",
      reason: "refused_requests 200 in 300 s",
      since: expect.stringMatching(/^20.*Z$/),
      until: expect.stringMatching(/^20.*Z$/),
      lifted_at: null,
      in_effect: true,
    };
    const all = await jsonCommand(["unusual-use", "list"], env);
    expect(all.code).toBe(0);
    expect(all.json["data"]).toEqual(
      expect.arrayContaining([hold, { ...hold, org_id: other, family: "videos" }]),
    );
    const one = await jsonCommand(["unusual-use", "list", orgId], env);
    expect(one.json).toEqual({ data: [hold] });
  });

  test("shows ended holds only when asked to", async () => {
    const orgId = await heldOrg("chat");
    await backend.usageHoldStore.lift(orgId, undefined, testOperator);
    const { stdout } = await asText("list", orgId);
    expect(stdout).toBe("there are none\n");
    const past = await asText("list", orgId, "--past", "yes");
    expect(past.stdout).toMatch(
      / chat +limited +refused_requests 200 in 300 s +20.* +20.* +20.* +false\n$/,
    );
  });
});

const WHY = ["--reason", "a customer we know"] as const;

describe("unusual-use lift", () => {
  test("lifts holds on every kind of request, and names what it lifted", async () => {
    const orgId = await heldOrg("chat", "images");
    const { code, json } = await jsonCommand(["unusual-use", "lift", orgId, ...WHY], env);
    expect(code).toBe(0);
    expect(json).toEqual({
      lifted: ["images", "chat"].map((family) =>
        expect.objectContaining({
          org_id: orgId,
          family,
          state: "limited",
          lifted_at: expect.stringMatching(/^20.*Z$/),
          in_effect: false,
        }),
      ),
    });
    const left = await jsonCommand(["unusual-use", "list", orgId], env);
    expect(left.json).toEqual({ data: [] });
    const again = await asText("lift", orgId, ...WHY);
    expect(again).toMatchObject({
      code: 0,
      stdout: "there are none\n",
    });
  });

  test("lifts one kind and keeps the others", async () => {
    const orgId = await heldOrg("chat", "images");
    const { stdout, code } = await asText("lift", orgId, "--family", "images", ...WHY);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\norg_\S+ +Trial +images +limited /);
    expect(stdout.split("\n")).toHaveLength(3);
    const left = await jsonCommand(["unusual-use", "list", orgId], env);
    expect(left.json["data"]).toEqual([expect.objectContaining({ family: "chat" })]);
  });
});

test("a wrong call exits with 2, names the next step, and lifts nothing", async () => {
  const orgId = await heldOrg("chat");
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [["lift", ...WHY], /missing required argument 'org_id'/],
    [["lift", "org_none", ...WHY], /no organization org_none; `tokenmarket org list` has the ids/],
    [["list", "org_none"], /no organization org_none; `tokenmarket org list` has the ids/],
    [
      ["lift", orgId, "--family", "audio", ...WHY],
      /Allowed choices are chat, images, videos, decisions/,
    ],
    [["lift", orgId], /--reason/],
  ];
  for (const [args, said] of wrong) {
    const result = await asText(...args);
    expect(result).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(said) });
  }
  const left = await jsonCommand(["unusual-use", "list", orgId], env);
  expect(left.json["data"]).toHaveLength(1);
});

test("serve refuses an impossible unusual-use line at once, and says what to write", async () => {
  const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
  const bad = { ...OPERATOR_ENV, ...env, TM_UNUSUAL_USE_SPEND_USD: "five" };
  const { code, stderr } = await runProgram(["serve", ...ports], bad);
  expect(code).toBe(2);
  expect(stderr).toMatch(/unusual_use\.spend_usd must be dollars above 0 such as "5\.00"/);
});
