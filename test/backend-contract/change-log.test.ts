import { beforeAll, describe, expect, test } from "vitest";

import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { ACTIONS, actionNames } from "../../src/kernel/changes/actions.ts";
import { ChangeLog } from "../../src/kernel/changes/change-log.ts";
import type { Change } from "../../src/kernel/changes/change.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { openPool } from "../../src/kernel/storage/connection.ts";
import { account, changeReader, operator } from "../support/change-writes.ts";
import { orgWithKey } from "../support/ledger-rows.ts";
import { emptyDatabase, withBackend } from "../support/postgres.ts";
import { completeSignIn, makeClaim, makeSignIn } from "../support/sign-in.ts";
import { silentLog } from "../support/silent-log.ts";
import { withResource } from "../support/with-resource.ts";

const backend = withBackend();
const recorded = changeReader(() => backend);
const pool = withResource(
  () => openPool(backend.connectionString, silentLog),
  (opened) => opened.end(),
);
let orgId: OrgId;
let keyId: KeyId;

beforeAll(async () => {
  ({ orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 0n }));
});

function noted(change: Partial<Change> = {}): Change {
  const [before, after] = [{ cap_usd: null }, { cap_usd: "1.000000" }];
  return { action: "key.cap", orgId, target: "key_1", before, after, ...change };
}

describe("the change log", () => {
  test("has no entry and no log line of a write that was rolled back", async () => {
    await recorded();
    const lines: object[] = [];
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
  });

  test("has no entry of a write that changes nothing", async () => {
    const disable = () =>
      backend.accountStore.editKeys("anyone", [keyId], { disable: true }, operator);
    await disable();
    await recorded();
    await disable();
    await backend.accountStore.setOrgCap(orgId, null, account);
    expect(await recorded()).toEqual([]);
  });

  test("stores no key, whichever field it was pasted into", async () => {
    await recorded();
    const secrets = [
      createVirtualKey().raw,
      "sk-proj-aB3_dE5gH7jK9mN1pQ",
      "sk_live_51H8xYzAbCdEfGhIjKl",
      "whsec_0123456789abcdefgh",
    ];
    for (const secret of secrets) {
      await backend.accountStore.renameOrg(orgId, `ours ${secret}`, account);
      const grant = { orgId, amountMicroUsd: 1n as never, ref: `for ${secret}` };
      await backend.creditStore.grant(grant, { ...operator, id: secret });
    }
    const text = JSON.stringify(await recorded());
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).toContain("ours tm_vk_[redacted]");
    expect(text).toContain("for [redacted]");
  });

  test("stores a text with half a character as the database stores it elsewhere", async () => {
    await recorded();
    await backend.accountStore.renameOrg(orgId, "ours \ud83d", account);
    const [last] = (await recorded()).slice(-1);
    expect(last?.after).toEqual({ name: "ours \ufffd" });
    const [org] = await backend.query("select name from org where org_id = $1", [orgId]);
    expect(org?.["name"]).toBe("ours \ufffd");
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
    for (const sql of [
      "update change set actor_id = 'nobody'",
      "delete from change",
      "delete from change where at < now() - interval '400 days'",
      "truncate change",
      "select retire_changes(0, 10)",
    ]) {
      await expect(backend.query(sql)).rejects.toThrow(/never changed or deleted|a day at least/);
    }
    expect(await backend.changeStore.retire(400, operator)).toBe(2);
    const left = await backend.query("select position from change where position < 0 order by 1");
    expect(left.map((row) => Number(row["position"]))).toEqual([-3, -2, -1]);
    const early = backend.query("delete from change where position = -3");
    await expect(early).rejects.toThrow("never");
  });

  test("numbers entries in the order of their commits, however many write at once", async () => {
    await recorded();
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
    const shownOf = (wanted: string) => page.find(({ action }) => action === wanted)?.after;
    expect(shownOf("hold.place")).toEqual({ name: "x" });
    expect(shownOf("key.cap")).toEqual({ name: "x", reason: "y" });
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
  async function signIn(subject: string, email: string, isVerified: boolean, before?: Buffer) {
    await recorded();
    const claim = makeClaim({ subject, email, isVerified });
    const previous = before && { previous: { sessionId: before, reveal: undefined } };
    const signingIn = makeSignIn(claim, { from, ...previous });
    const resolved = await completeSignIn(backend.identityStore, signingIn);
    const changes = await recorded();
    expect(JSON.stringify(changes)).not.toContain(email);
    const actions = changes.map(({ action }) => action);
    return { ...resolved, sessionId: signingIn.session.sessionId, changes, actions };
  }

  test("logs each of its effects once", async () => {
    const alerts = ["alert.rules", "alert.destination"];
    const moved = ["account.email", "alert.destination", "session.start"];
    for (const [subject, email, isVerified, logged] of [
      ["new", "new@example.com", false, ["org.create", "account.create", "session.start"]],
      [
        "new",
        "new@example.com",
        true,
        ["session.end", "account.verify", "session.start", ...alerts, "key.create"],
      ],
      ["new", "moved@example.com", true, moved],
      // The two addresses look alike when masked; the second change is logged nevertheless.
      ["new", "mover@example.com", true, moved],
      ["other", "mover@example.com", true, ["account.link", "session.start"]],
      ["other", "mover@example.com", true, ["session.start"]],
    ] as const) {
      const { accountId, changes, actions } = await signIn(subject, email, isVerified);
      expect(actions).toEqual(logged);
      for (const { by } of changes) expect(by).toEqual({ kind: "account", id: accountId, ...from });
    }
  });

  test("ends the session that the browser had, and logs that for the session's owner", async () => {
    const [subject, email] = ["again", "again@example.com"];
    const first = await signIn(subject, email, false);
    const again = await signIn(subject, email, false, first.sessionId);
    expect(again.actions).toEqual(["session.end", "session.start"]);
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
    expect(late.actions).toEqual(["session.start"]);
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
