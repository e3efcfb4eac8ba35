import { beforeAll, expect, test } from "vitest";

import type { OrgId } from "../../../src/kernel/core/ids.ts";
import { jsonCommand, OPERATOR_ENV } from "../../support/operator.ts";
import { runCommand, type CommandResult } from "../../support/program.ts";
import { runOnce, withBackend } from "../../support/postgres.ts";
import { testOperator } from "../../support/test-operator.ts";

const backend = withBackend();
let orgId: OrgId;

beforeAll(async () => {
  const org = { name: "Acme", email: "ann@example.com" };
  ({ orgId } = await backend.accountStore.createOrg(org, testOperator));
  for (const name of ["ann", "bob"]) {
    await runOnce(
      backend.connectionString,
      `with o as (insert into org (org_id, name, email, email_verified) values ('org_${name}', '${name}', '', true) returning org_id)
      insert into console_account (account_id, org_id, email, email_norm, email_verified_at, created_at)
      select 'acct_${name}', org_id, '${name}@example.com', '${name}@example.com', now(), now() from o`,
    );
  }
});

const env = (): Record<string, string> => ({ DATABASE_URL: backend.connectionString });

async function member(...args: readonly string[]): Promise<unknown> {
  const { json } = await jsonCommand(["member", ...args, "--org", orgId], env());
  const members = json["members"] as readonly { readonly email: string; readonly role: string }[];
  return members.map(({ email, role }) => `${role} ${email}`);
}

function refused(...args: readonly string[]): Promise<CommandResult> {
  return runCommand(["member", ...args, "--org", orgId], { ...OPERATOR_ENV, ...env() });
}

test("an operator can add an owner where none is left, and cannot remove the last one", async () => {
  expect(await member("list")).toEqual([]);
  const ann = ["--email", "Ann@Example.com"];
  await member("add", ...ann, "--role", "owner");
  expect(await member("list")).toEqual(["owner ann@example.com"]);
  const last = await refused("remove", "acct_ann");
  expect(last.code).not.toBe(0);
  expect(last.stderr).toContain("needs an owner");
  const demoted = await refused("role", "acct_ann", "--role", "viewer");
  expect(demoted.stderr).toContain("needs an owner");
  const bob = ["--email", "bob@example.com"];
  await member("add", ...bob, "--role", "viewer");
  expect(await member("list")).toHaveLength(2);
  expect(await member("role", "acct_bob", "--role", "owner")).toContain("owner bob@example.com");
  expect(await member("remove", "acct_ann")).toEqual(["owner bob@example.com"]);
  const unknown = await refused("add", "--email", "eve@example.com", "--role", "viewer");
  expect(unknown.stderr).toContain("has signed in yet");
  const again = await refused("add", ...bob, "--role", "viewer");
  expect(again.stderr).toContain("is a member already");
  expect(await member("list")).toEqual(["owner bob@example.com"]);
});

test("each change of members is in the change log with the operator who made it", async () => {
  const { json } = await jsonCommand(["changes", "list", orgId], env());
  const text = JSON.stringify(json);
  for (const action of ["member.join", "member.role", "member.remove"]) {
    expect(text).toContain(action);
  }
  expect(text).toContain('"operator"');
  // The command adds current addresses; the log itself has ids and masked addresses.
  expect(text).toContain('"target":"acct_ann","target_email":"ann@example.com"');
  const exported = await runCommand(["changes", "export", orgId], {
    ...OPERATOR_ENV,
    ...env(),
  });
  expect(exported.stdout).toContain("acct_ann");
  expect(exported.stdout).not.toContain("ann@example.com");
});
