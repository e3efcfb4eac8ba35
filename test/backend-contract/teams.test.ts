import type { Pool } from "pg";
import { describe, expect, test } from "vitest";

import type { OrgId } from "../../src/kernel/core/ids.ts";
import { openPool } from "../../src/kernel/storage/connection.ts";
import { withBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";

/** Makes an account with its organization and without a row of membership. */
async function plainAccount(pool: Pool, name: string, orgId = `org_${name}`): Promise<void> {
  await pool.query(
    "insert into org (org_id, name, email, email_verified) values ($1, $2, $3, true)",
    [orgId, name, `${name}@example.com`],
  );
  await pool.query(
    `insert into console_account
      (account_id, org_id, email, email_norm, email_verified_at, name, created_at)
    values ($1, $2, $3, $3, now(), null, '2026-01-02T03:04:05Z')`,
    [`acct_${name}`, orgId, `${name}@example.com`],
  );
}

async function membersIn(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ line: string }>(
    "select org_id || ' ' || account_id || ' ' || role as line from org_member order by 1",
  );
  return rows.map(({ line }) => line);
}

describe("every write of accounts", () => {
  const backend = withBackend();

  test("keeps an account a member of its own organization, and of no former one", async () => {
    const pool = openPool(backend.connectionString, silentLog);
    await plainAccount(pool, "cid");
    expect(await membersIn(pool)).toContain("org_cid acct_cid owner");
    // An organization that an operator made is adopted.
    await backend.accountStore.createOrg({ name: "x", email: "cid@example.com" }, testOperator);
    const { rows } = await pool.query<{ org_id: OrgId }>("select org_id from org where name = 'x'");
    const [made] = rows;
    await pool.query("update console_account set org_id = $1 where account_id = 'acct_cid'", [
      made?.org_id,
    ]);
    const own = (await membersIn(pool)).filter((line) => line.includes("acct_cid"));
    expect(own).toEqual([`${made?.org_id} acct_cid owner`]);
    await pool.query("delete from console_account where account_id = 'acct_cid'");
    expect((await membersIn(pool)).filter((line) => line.includes("acct_cid"))).toEqual([]);
    await pool.end();
  });

  test("that moves no account does not add a removed member again", async () => {
    const pool = openPool(backend.connectionString, silentLog);
    await plainAccount(pool, "dan");
    await pool.query("delete from org_member where account_id = 'acct_dan'");
    await pool.query("update console_account set name = 'Dan' where account_id = 'acct_dan'");
    await pool.query("update console_account set org_id = org_id where account_id = 'acct_dan'");
    expect((await membersIn(pool)).filter((line) => line.includes("acct_dan"))).toEqual([]);
    await pool.end();
  });
});
