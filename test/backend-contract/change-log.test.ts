import { beforeAll, describe, expect, test } from "vitest";

import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { ACTIONS, actionNames } from "../../src/kernel/changes/actions.ts";
import { ChangeLog } from "../../src/kernel/changes/change-log.ts";
import type { Change, RecordedChange } from "../../src/kernel/changes/change.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { openPool } from "../../src/kernel/storage/connection.ts";
import { account, changeReader, operator } from "../support/change-writes.ts";
import { orgWithKey } from "../support/ledger-rows.ts";
import { emptyDatabase, withBackend } from "../support/postgres.ts";
import { completeSignIn, makeClaim, makeSignIn } from "../support/sign-in.ts";
import { silentLog } from "../support/silent-log.ts";

const backend = withBackend();
const recorded = changeReader(() => backend);
let orgId: OrgId;

beforeAll(async () => {
  ({ orgId } = await orgWithKey(backend, { creditMicroUsd: 0n }));
});

function noted(change: Partial<Change> = {}): Change {
  const [before, after] = [{ cap_usd: null }, { cap_usd: "1.000000" }];
  return { action: "key.cap", orgId, target: "key_1", before, after, ...change };
}

describe("the change log", () => {
  test("has no entry and no log line of a write that was rolled back", async () => {
    await recorded();
    const lines: object[] = [];
    const pool = openPool(backend.connectionString, silentLog);
    const log = new ChangeLog(pool, { info: (line) => void lines.push(line) });
    const broken = log.write(operator, async (client, note) => {
      note(noted());
      await client.query("update org set name = 'never' where org_id = $1", [orgId]);
      await client.query("select 1 / 0");
    });
    await expect(broken).rejects.toThrow("division by zero");
    expect(await recorded()).toEqual([]);
    expect([lines, [...log.counts]]).toEqual([[], []]);
    // A change that cannot be recorded undoes the write that it belongs to.
    const unrecorded = log.write(operator, async (client, note) => {
      await client.query("update org set name = 'never' where org_id = $1", [orgId]);
      note(noted({ action: "No such action" as never }));
    });
    await expect(unrecorded).rejects.toThrow("change_action_check");
    const [org] = await backend.query("select name from org where org_id = $1", [orgId]);
    expect(org?.["name"]).not.toBe("never");
    await log.write(account, async (_, note) => note(noted()));
    const [line, ...more] = lines;
    expect(more).toEqual([]);
    const who = { actor_kind: "account", actor_id: "acct_1", client_network: "203.0.113.0/24" };
    expect(line).toMatchObject({ change: true, action: "key.cap", target: "key_1", ...who });
    expect([...log.counts]).toEqual([["key.cap", 1]]);
    await pool.end();
  });

  test("has no entry of a write that changes nothing", async () => {
    const key = await backend.accountStore.listKeys(orgId);
    const keyId = key[0]?.keyId ?? "";
    await backend.accountStore.editKeys("anyone", [keyId], { disable: true }, operator);
    await recorded();
    await backend.accountStore.editKeys("anyone", [keyId], { disable: true }, operator);
    await backend.accountStore.setOrgCap(orgId, null, account);
    expect(await recorded()).toEqual([]);
  });

  test("stores no key, whichever field it was pasted into", async () => {
    await recorded();
    const { raw } = createVirtualKey();
    const provider = [
      "sk-proj-aB3_dE5gH7jK9mN1pQ",
      "sk_live_51H8xYzAbCdEfGhIjKl",
      "whsec_0123456789abcdefgh",
    ];
    for (const secret of [raw, ...provider]) {
      await backend.accountStore.renameOrg(orgId, `ours ${secret}`, account);
      const grant = { orgId, amountMicroUsd: 1n as never, ref: `for ${secret}` };
      await backend.creditStore.grant(grant, { ...operator, id: secret });
    }
    const text = JSON.stringify(await recorded());
    for (const secret of [raw, ...provider]) expect(text).not.toContain(secret);
    expect(text).toContain("ours tm_vk_[redacted]");
    expect(text).toContain("for [redacted]");
  });

  test("stores the digest of a value that is too long", async () => {
    const policy = { only: Array.from({ length: 900 }, (_, at) => `provider-${at}`) };
    await backend.rulesStore.setPolicy(orgId, policy, operator);
    const [last] = (await recorded()).slice(-1);
    expect(last?.after).toEqual({ too_long_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  test("cannot be changed or deleted, except for old entries by the retention function", async () => {
    await backend.query(
      `insert into change (position, at, actor_kind, actor_id, action, target)
      select -n, now() - n * interval '100 days', 'operator', 'ann', 'org.create', 'old'
      from generate_series(1, 5) n`,
    );
    // The tests' own connection bypasses triggers, so this uses a connection like the program's.
    const pool = openPool(backend.connectionString, silentLog);
    for (const sql of [
      "update change set actor_id = 'nobody'",
      "delete from change",
      "delete from change where at < now() - interval '400 days'",
      "truncate change",
      "select retire_changes(0, 10)",
    ]) {
      await expect(pool.query(sql)).rejects.toThrow(/never changed or deleted|a day at least/);
    }
    expect(await backend.changeStore.retire(400, operator)).toBe(2);
    const left = await backend.query("select position from change where position < 0 order by 1");
    expect(left.map((row) => Number(row["position"]))).toEqual([-3, -2, -1]);
    const early = pool.query("delete from change where position = -3");
    await expect(early).rejects.toThrow("never");
    await pool.end();
  });

  test("numbers entries in the order of their commits, however many write at once", async () => {
    await recorded();
    const pool = openPool(backend.connectionString, silentLog);
    const log = new ChangeLog(pool, silentLog);
    const seen: number[] = [];
    const reading = async (): Promise<void> => {
      for (let after = 0; seen.length < 20;) {
        const news = await backend.changeStore.list({ limit: 500, actionPrefix: "key.rename" });
        const fresh = news.filter((each) => each.position > after).toReversed();
        seen.push(...fresh.map((each) => each.position));
        after = seen.at(-1) ?? after;
      }
    };
    const writing = Array.from({ length: 20 }, (_, at) =>
      log.write(operator, async (_client, note) =>
        note(noted({ action: "key.rename", target: `key_${at}` })),
      ),
    );
    // A reader that continues after the last position it has seen misses no entry.
    await Promise.all([reading(), ...writing]);
    expect(new Set(seen).size).toBe(20);
    await pool.end();
  });
});

describe("an organization's view of the log", () => {
  test("has its own changes of visible actions, without the operator's name", async () => {
    const stranger = (await orgWithKey(backend, { creditMicroUsd: 0n })).orgId;
    await backend.changeLog.write({ ...operator, requestId: "internal" }, async (_, note) => {
      for (const action of actionNames())
        note(noted({ action, after: { name: "x", reason: "y" } }));
      note(noted({ orgId: stranger, target: "not ours" }));
      note(noted({ orgId: null, target: "the installation's" }));
    });
    const page = await backend.changeStore.page({ orgId, limit: 1_000 });
    const text = JSON.stringify(page);
    for (const hidden of ["not ours", "the installation's", "ann", "internal"]) {
      expect(text).not.toContain(hidden);
    }
    const shown = Object.entries(ACTIONS).filter(([, { seenBy }]) => seenBy === "organization");
    const names = page.slice(0, shown.length).map(({ action }) => action);
    expect(names.toSorted()).toEqual(shown.map(([name]) => name).toSorted());
    const hold = page.find(({ action }) => action === "hold.place");
    expect(hold?.after).toEqual({ name: "x" });
    expect(page.find(({ action }) => action === "key.cap")?.after).toEqual({
      name: "x",
      reason: "y",
    });
  });

  test("has pages by position with the newest first, and a filter by action", async () => {
    const asked = { orgId, actionPrefix: "key.", limit: 3 };
    const first = await backend.changeStore.page(asked);
    const second = await backend.changeStore.page({ ...asked, before: first[2]?.position ?? 0 });
    const both = await backend.changeStore.page({ ...asked, limit: 6 });
    expect([...first, ...second]).toEqual(both);
    expect(both.every(({ action }) => action.startsWith("key."))).toBe(true);
  });
});

describe("one sign-in", () => {
  const from = { requestId: "sign-in", clientNetwork: "198.51.100.0/24" };
  async function signIn(
    subject: string,
    email: string,
    isVerified: boolean,
    before?: Buffer,
  ): Promise<SignedIn> {
    await recorded();
    const claim = makeClaim({ subject, email, isVerified });
    const previous = before && { previous: { sessionId: before, reveal: undefined } };
    const signingIn = makeSignIn(claim, { from, ...previous });
    const resolved = await completeSignIn(backend.identityStore, signingIn);
    const changes = await recorded();
    expect(JSON.stringify(changes)).not.toContain(email);
    return { ...resolved, sessionId: signingIn.session.sessionId, changes };
  }
  interface SignedIn {
    readonly accountId: string;
    readonly orgId: OrgId;
    readonly sessionId: Buffer;
    readonly changes: readonly RecordedChange[];
  }
  async function actionsOf(...who: Parameters<typeof signIn>): Promise<readonly string[]> {
    const { accountId, changes } = await signIn(...who);
    for (const { by } of changes) expect(by).toEqual({ kind: "account", id: accountId, ...from });
    return changes.map(({ action }) => action);
  }

  test("logs each of its effects once", async () => {
    const first = await actionsOf("new", "new@example.com", false);
    expect(first).toEqual(["org.create", "account.create", "session.start"]);
    const verified = await actionsOf("new", "new@example.com", true);
    expect(verified).toEqual([
      "account.verify",
      "session.start",
      "alert.rules",
      "alert.destination",
      "key.create",
    ]);
    expect(await actionsOf("new", "moved@example.com", true)).toEqual([
      "account.email",
      "alert.destination",
      "session.start",
    ]);
    // The two addresses look alike when masked; the second change is logged nevertheless.
    expect(await actionsOf("new", "mover@example.com", true)).toEqual([
      "account.email",
      "alert.destination",
      "session.start",
    ]);
    expect(await actionsOf("other", "mover@example.com", true)).toEqual([
      "account.link",
      "session.start",
    ]);
    expect(await actionsOf("other", "mover@example.com", true)).toEqual(["session.start"]);
  });

  test("ends the session that the browser had, and logs that for the session's owner", async () => {
    const [subject, email] = ["again", "again@example.com"];
    const first = await signIn(subject, email, false);
    const again = await signIn(subject, email, false, first.sessionId);
    expect(again.changes.map(({ action }) => action)).toEqual(["session.end", "session.start"]);
    const other = await signIn("guest", "guest@example.com", false, again.sessionId);
    const [end, ...rest] = other.changes;
    expect(end).toMatchObject({
      action: "session.end",
      orgId: first.orgId,
      target: first.accountId,
      by: { kind: "account", id: first.accountId, ...from },
    });
    expect(rest.map(({ orgId: of }) => of)).not.toContain(first.orgId);
    // The session has already ended, and a second end changes nothing.
    const late = await signIn(subject, email, false, again.sessionId);
    expect(late.changes.map(({ action }) => action)).toEqual(["session.start"]);
  });
});

test("the first change of a new database is its migration", async () => {
  const database = await emptyDatabase();
  const { connectionString } = database;
  const made = openPostgresBackend({ connectionString, log: silentLog });
  const ran = await made.migrate(operator);
  await made.migrate(operator);
  const [first, ...more] = await made.changeStore.list({ limit: 10 });
  expect(first).toMatchObject({ action: "schema.migrate", by: operator, after: { steps: ran } });
  expect(more).toEqual([]);
  await made.close();
  await database.drop();
});
