import { expect, test } from "vitest";

import type { CallFamily } from "../../../src/formats/index.ts";
import type { OrgId } from "../../../src/kernel/core/ids.ts";
import { jsonCommand, OPERATOR_ENV } from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { runCommand, type CommandResult } from "../../support/program.ts";
import { testOperator } from "../../support/test-operator.ts";

const backend = withBackend();
const env = () => ({ DATABASE_URL: backend.connectionString });

/** Makes a trial organization that was limited in these kinds of requests for unusual use. */
async function heldOrg(...families: readonly CallFamily[]): Promise<OrgId> {
  const trial = { name: "Trial", email: "t@example.com" };
  const { orgId } = await backend.accountStore.createOrg(trial, testOperator);
  for (const family of families) {
    await backend.usageHoldStore.record({
      orgId,
      family,
      reason: "refused_requests 200 in 300 s",
      ageMs: 1_000,
      limitedMs: 600_000,
      repeatMs: 86_400_000,
    });
  }
  return orgId;
}

function asText(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(["unusual-use", ...args], { ...OPERATOR_ENV, ...env() });
}

const WHY = ["--reason", "a customer we know"] as const;

test("unusual-use list shows restrictions of all organizations or of one, and past ones on request", async () => {
  const [orgId, other] = [await heldOrg("chat"), await heldOrg("videos")];
  const instant = expect.stringMatching(/^20.*Z$/);
  const hold = {
    org_id: orgId,
    org_name: "Trial",
    family: "chat",
    state: "limited",
    reason: "refused_requests 200 in 300 s",
    since: instant,
    until: instant,
    lifted_at: null,
    in_effect: true,
  };
  const all = await jsonCommand(["unusual-use", "list"], env());
  expect(all.code).toBe(0);
  expect(all.json["data"]).toEqual(
    expect.arrayContaining([hold, { ...hold, org_id: other, family: "videos" }]),
  );
  const one = await jsonCommand(["unusual-use", "list", orgId], env());
  expect(one.json).toEqual({ data: [hold] });
  await backend.usageHoldStore.lift(orgId, undefined, testOperator);
  expect((await asText("list", orgId)).stdout).toBe("there are none\n");
  const past = await asText("list", orgId, "--past", "yes");
  expect(past.stdout).toMatch(
    / chat +limited +refused_requests 200 in 300 s +20.* +20.* +20.* +false\n$/,
  );
});

test("unusual-use lift lifts the restriction of one kind of request or all, and lists those it lifted", async () => {
  const orgId = await heldOrg("chat", "images", "videos");
  const { stdout, code } = await asText("lift", orgId, "--family", "videos", ...WHY);
  expect(code).toBe(0);
  expect(stdout).toMatch(/\norg_\S+ +Trial +videos +limited /);
  expect(stdout.split("\n")).toHaveLength(3);
  const { json } = await jsonCommand(["unusual-use", "lift", orgId, ...WHY], env());
  const lifted_at = expect.stringMatching(/^20.*Z$/);
  const hold = { state: "limited", lifted_at, in_effect: false };
  const lifted = ["images", "chat"].map((family) => expect.objectContaining({ family, ...hold }));
  expect(json).toEqual({ lifted });
  const left = await jsonCommand(["unusual-use", "list", orgId], env());
  expect(left.json).toEqual({ data: [] });
  const again = await asText("lift", orgId, ...WHY);
  expect(again).toMatchObject({ code: 0, stdout: "there are none\n" });
});

test("an invalid unusual-use command exits with 2, names the fault, and lifts nothing", async () => {
  const orgId = await heldOrg("chat");
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [["lift", ...WHY], /missing required argument 'org_id'/],
    [["list", "org_none"], /no organization org_none; `tokenmarket org list` has the ids/],
    [["lift", orgId, "--family", "audio", ...WHY], /choices are chat, images, videos, decisions/],
    [["lift", orgId], /--reason/],
  ];
  for (const [args, said] of wrong) {
    const result = await asText(...args);
    expect(result).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(said) });
  }
  const left = await jsonCommand(["unusual-use", "list", orgId], env());
  expect(left.json["data"]).toHaveLength(1);
});
