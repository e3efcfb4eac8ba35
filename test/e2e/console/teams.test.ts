import { createHash } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { beforeAll, describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { quickOrDeep } from "../../support/depth.ts";
import {
  at,
  listAt,
  parsed,
  readAnswer,
  textAt,
  type HttpAnswer,
} from "../../support/http-call.ts";
import { readSql, runSql } from "../../support/sql.ts";
import { testOperator } from "../../support/test-operator.ts";
import { everyStoredText } from "./every-stored-text.ts";
import { newcomer, newKey, withProviderConsole, type Person } from "./provider-fixture.ts";

const encryptionKey = Buffer.alloc(32, 7).toString("base64");
const fixture = withProviderConsole({
  settings: { logLevel: "trace", welcomeUsd: "1", encryptionKey },
});
let people = 0;

async function signedIn(name: string): Promise<Person> {
  people += 1;
  return await fixture.signIn(newcomer(`${name}${people}`));
}

function emailOf(name: string): string {
  return `${name}@example.com`;
}

interface Invited {
  readonly id: string;
  readonly token: string;
}

async function invite(owner: Person, email: string, role: string): Promise<Invited> {
  const { json } = await owner.do("POST /api/console/invitations", { body: { email, role } });
  const link = new URL(textAt(json, "link"));
  expect(link.origin + link.pathname).toBe(`${fixture.url}/join`);
  return { id: textAt(json, "invitation.invitation_id"), token: link.hash.slice(1) };
}

function accept(person: Person, { id }: Invited): Promise<HttpAnswer> {
  return person.ask(`POST /api/console/received-invitations/${id}/accept`);
}

function find(person: Person, token: string): Promise<HttpAnswer> {
  return person.ask("POST /api/console/received-invitations/find", { body: { token } });
}

/** A new person who has accepted an invitation. */
async function joined(owner: Person, name: string, role: string): Promise<Person> {
  const person = await signedIn(name);
  const invitation = await invite(owner, person.email, role);
  expect((await accept(person, invitation)).status).toBe(200);
  return person;
}

async function idOf(person: Person): Promise<string> {
  const members = listAt(await teamOf(person), "members");
  return textAt(
    members.find((each) => at(each, "is_you") === true),
    "account_id",
  );
}

async function sessionOf(person: Person): Promise<unknown> {
  return (await person.do("GET /api/console/session")).json;
}

async function orgOf(person: Person): Promise<string> {
  return textAt(await sessionOf(person), "org.org_id");
}

/** The ids of the other organizations of an account, to which it can switch. */
async function othersOf(person: Person): Promise<readonly unknown[]> {
  return listAt(await sessionOf(person), "others").map((each) => at(each, "org_id"));
}

async function teamOf(person: Person): Promise<unknown> {
  return (await person.do("GET /api/console/members")).json;
}

function setRole(owner: Person, accountId: string, role: string): Promise<HttpAnswer> {
  return owner.ask(`PATCH /api/console/members/${accountId}`, { body: { role } });
}

function remove(owner: Person, accountId: string): Promise<HttpAnswer> {
  return owner.do(`POST /api/console/members/${accountId}/remove`);
}

/** Signs an account in again, with another browser. */
function signInAgain({ email }: Person): Promise<Person> {
  return fixture.signIn(newcomer(email.split("@")[0] ?? ""));
}

async function actionsOf(person: Person): Promise<readonly string[]> {
  const { json } = await person.do("GET /api/console/changes");
  return listAt(json, "data").map((each) => textAt(each, "action"));
}

describe("an invitation", () => {
  let ann: Person;
  beforeAll(async () => {
    ann = await signedIn("ann");
  });

  test("makes the invited person a member with the role, and works once", async () => {
    const bob = await signedIn("bob");
    const invitation = await invite(ann, bob.email, "developer");
    const found = await find(bob, invitation.token);
    expect(found.json).toMatchObject({
      invitation_id: invitation.id,
      role: "developer",
      is_yours: true,
      invited_by: ann.email,
    });
    expect((await accept(bob, invitation)).json).toEqual({ org_id: ann.orgId });
    expect(await sessionOf(bob)).toMatchObject({
      org: { org_id: ann.orgId, role: "developer" },
      may: ["account", "read", "keys"],
      others: [{ org_id: bob.orgId }],
    });
    expect((await accept(bob, invitation)).status).toBe(404);
    expect((await find(bob, invitation.token)).status).toBe(410);
    const { id } = await newKey(bob);
    expect((await ann.do("GET /api/console/keys")).text).toContain(id);
    expect(await actionsOf(ann)).toEqual(expect.arrayContaining(["member.invite", "member.join"]));
  });

  test("can be accepted only by the account with its e-mail address, in upper or lower case", async () => {
    const eve = await signedIn("eve");
    const carl = await signedIn("carl");
    const shouted = carl.email.toUpperCase();
    const invitation = await invite(ann, shouted, "viewer");
    const found = await find(eve, invitation.token);
    expect(found.json).toMatchObject({ is_yours: false, email: shouted });
    expect((await accept(eve, invitation)).status).toBe(404);
    expect((await accept(carl, invitation)).status).toBe(200);
  });

  test("is accepted once, even by simultaneous requests", async () => {
    const dora = await signedIn("dora");
    const invitation = await invite(ann, dora.email, "viewer");
    const answers = await Promise.all([1, 2, 3, 4].map(() => accept(dora, invitation)));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 404, 404, 404]);
  });

  test("that was renewed or revoked cannot be opened by its old link", async () => {
    const finn = await signedIn("finn");
    const first = await invite(ann, finn.email, "viewer");
    const renewed = await ann.do(`POST /api/console/invitations/${first.id}/renew`);
    const token = new URL(textAt(renewed.json, "link")).hash.slice(1);
    expect(token).not.toBe(first.token);
    expect((await find(finn, first.token)).status).toBe(410);
    expect((await find(finn, token)).status).toBe(200);
    await ann.do(`POST /api/console/invitations/${first.id}/revoke`);
    expect((await find(finn, token)).status).toBe(410);
    expect((await accept(finn, first)).status).toBe(404);
  });

  test("is refused for an address already invited, and beyond 50 members and open invitations", async () => {
    const gus = await signedIn("gus");
    const ask = (email: string): Promise<HttpAnswer> =>
      gus.ask("POST /api/console/invitations", { body: { email, role: "viewer" } });
    await invite(gus, emailOf("one"), "viewer");
    expect((await ask("ONE@example.com")).status).toBe(409);
    expect((await ask(gus.email)).status).toBe(409);
    for (let count = 2; count < 50; count += 1) await invite(gus, emailOf(`g${count}`), "viewer");
    const tooMany = await ask(emailOf("g50"));
    expect(tooMany.status).toBe(409);
    expect(textAt(tooMany.json, "error.message")).toContain("at most 50");
    // An expired invitation does not count until its link is renewed.
    const expired = textAt(await teamOf(gus), "invitations.0.invitation_id");
    const expire = "update org_invitation set expires_at = now() where invitation_id = $1";
    await runSql(fixture.gateway, expire, [expired]);
    const last = await invite(gus, emailOf("g50"), "viewer");
    const renewed = await gus.ask(`POST /api/console/invitations/${expired}/renew`);
    expect([renewed.status, at(renewed.json, "error.message")]).toEqual([
      409,
      textAt(tooMany.json, "error.message"),
    ]);
    await gus.do(`POST /api/console/invitations/${last.id}/renew`);
  });

  test("has its token only in the answer that made it, not in the database or in the log", async () => {
    const { token } = await invite(ann, emailOf("secret"), "viewer");
    await find(ann, token);
    const stored = await everyStoredText(fixture.gateway.config.databaseUrl);
    expect(stored).not.toContain(token);
    const digest = createHash("sha256").update(token).digest("hex");
    expect(stored).toContain(digest);
    expect(fixture.gateway.log()).not.toContain(token);
  });
});

describe("a person who was invited before the first sign-in", () => {
  test("is asked about the invitation first, and gets no trial key by joining", async () => {
    const ann = await signedIn("host");
    const invitation = await invite(ann, emailOf("new-one"), "billing");
    const person = await fixture.signIn(newcomer("new-one"));
    expect(await sessionOf(person)).toMatchObject({
      has_reveal: false,
      is_funded: false,
      is_undecided: true,
      own_deferred: true,
      invitations: [{ invitation_id: invitation.id, role: "billing", is_yours: true }],
    });
    expect(await actionsOf(person)).not.toContain("key.create");
    await accept(person, invitation);
    expect(await sessionOf(person)).toMatchObject({
      org: { org_id: ann.orgId, role: "billing" },
      others: [],
      is_undecided: false,
      own_deferred: true,
      invitations: [],
    });
  });

  test("is offered the invitation at every sign-in until it is decided", async () => {
    const ann = await signedIn("host");
    const invitation = await invite(ann, emailOf("slow-one"), "viewer");
    await fixture.signIn(newcomer("slow-one"));
    const again = await fixture.signIn(newcomer("slow-one"));
    expect(await sessionOf(again)).toMatchObject({ is_undecided: true, has_reveal: false });
    // After the invitation was revoked, the person can only open their own organization.
    await ann.do(`POST /api/console/invitations/${invitation.id}/revoke`);
    expect(await sessionOf(again)).toMatchObject({ is_undecided: true, invitations: [] });
    await again.do("POST /api/console/organizations/own");
    expect(await sessionOf(again)).toMatchObject({ is_undecided: false, has_reveal: true });
    // A person with their own organization is offered an invitation too.
    await invite(ann, emailOf("slow-one"), "billing");
    expect(await sessionOf(again)).toMatchObject({ invitations: [{ role: "billing" }] });
  });

  test("can open their own organization instead, once, with the trial key and starting credit", async () => {
    const ann = await signedIn("host");
    await invite(ann, emailOf("own-one"), "viewer");
    const person = await fixture.signIn(newcomer("own-one"));
    const own = await person.do("POST /api/console/organizations/own");
    expect(own.json).toEqual({ org_id: person.orgId });
    expect(await sessionOf(person)).toMatchObject({
      org: { org_id: person.orgId, role: "owner" },
      has_reveal: true,
      balance: { settled_usd: "1.000000" },
    });
    const reveal = await person.do("POST /api/console/reveal");
    expect(textAt(reveal.json, "key")).toMatch(/^tm_vk_/);
    expect((await person.ask("POST /api/console/organizations/own")).status).toBe(409);
  });
});

describe("members", () => {
  test("who are removed lose access with their next request, and get their own organization", async () => {
    const ann = await signedIn("boss");
    const bob = await joined(ann, "gone", "owner");
    expect((await bob.do("GET /api/console/keys")).status).toBe(200);
    await remove(ann, await idOf(bob));
    expect(await orgOf(bob)).not.toBe(ann.orgId);
    const headers = { "x-tm-org": ann.orgId };
    const stale = await bob.ask("POST /api/console/keys", { body: { name: "stale" }, headers });
    expect([stale.status, at(stale.json, "error.code")]).toEqual([409, "other_organization"]);
    // The founder can be removed too, by another owner: the account gets an empty organization.
    const cara = await joined(ann, "cara", "owner");
    await remove(cara, await idOf(ann));
    expect(await orgOf(ann)).not.toBe(ann.orgId);
    expect(await sessionOf(ann)).toMatchObject({
      org: { role: "owner" },
      balance: { settled_usd: "0.000000" },
    });
    expect(await actionsOf(cara)).toEqual(expect.arrayContaining(["member.remove"]));
    // A new sign-in does not lead back to the former organization.
    expect((await signInAgain(ann)).orgId).not.toBe(ann.orgId);
  });

  test("always include an owner, even when both owners leave or demote each other at once", async () => {
    for (let round = 0; round < quickOrDeep(2, 5); round += 1) {
      const ann = await signedIn("left");
      const bob = await joined(ann, "right", "owner");
      const [annId, bobId] = [await idOf(ann), await idOf(bob)];
      const answers = await Promise.all(
        round % 2 === 0
          ? [ann.ask("POST /api/console/leave"), bob.ask("POST /api/console/leave")]
          : [setRole(ann, bobId, "viewer"), setRole(bob, annId, "viewer")],
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      const left = await fixture.gateway.backend.teamStore.members(ann.orgId);
      expect(left.filter(({ role }) => role === "owner")).toHaveLength(1);
    }
  });

  test("who are the last owner cannot leave, be removed or be demoted", async () => {
    const ann = await signedIn("last");
    const id = await idOf(ann);
    const answers = [
      await ann.ask("POST /api/console/leave"),
      await ann.ask(`POST /api/console/members/${id}/remove`),
      await setRole(ann, id, "billing"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409]);
    expect(textAt(answers[0]?.json, "error.message")).toContain("needs an owner");
  });

  test("have their new role with their next request", async () => {
    const ann = await signedIn("chief");
    const bob = await joined(ann, "clerk", "viewer");
    const create = (): Promise<HttpAnswer> =>
      bob.ask("POST /api/console/keys", { body: { name: "k" } });
    expect((await create()).status).toBe(403);
    expect((await setRole(ann, await idOf(bob), "developer")).status).toBe(200);
    expect((await create()).status).toBe(200);
  });
});

describe("a member who is removed or may no longer invite", () => {
  test("has all open invitations revoked, each with an entry in the change log", async () => {
    const ann = await signedIn("honest");
    const mal = await joined(ann, "mallory", "owner");
    const alt = await signedIn("alt");
    const bystander = await signedIn("bystander");
    const toAlt = await invite(mal, alt.email, "owner");
    const kept = await invite(ann, bystander.email, "viewer");
    expect((await setRole(ann, await idOf(mal), "billing")).status).toBe(200);
    expect((await accept(alt, toAlt)).status).toBe(404);
    expect(listAt(await teamOf(ann), "invitations")).toHaveLength(1);
    expect(await actionsOf(ann)).toContain("member.uninvite");
    // An operator adds a person with an open invitation as a member directly.
    const email = bystander.email;
    await fixture.gateway.backend.teamStore.add(ann.orgId, { email, role: "viewer" }, testOperator);
    expect(await othersOf(bystander)).toContain(ann.orgId);
    const team = await teamOf(ann);
    expect(listAt(team, "invitations")).toEqual([]);
    const added = listAt(team, "members").find((each) => at(each, "email") === email);
    await remove(ann, textAt(added, "account_id"));
    expect((await accept(bystander, kept)).status).toBe(404);
    expect(await othersOf(bystander)).not.toContain(ann.orgId);
    expect(await orgOf(bystander)).not.toBe(ann.orgId);
  });

  test("leaves no open invitation behind when removal, invitation and acceptance happen at once", async () => {
    for (let round = 0; round < quickOrDeep(2, 12); round += 1) {
      const ann = await signedIn("ruth");
      const mal = await joined(ann, "malory", "owner");
      const [first, second] = [await signedIn("puppet"), await signedIn("puppet")];
      const early = await invite(mal, first.email, "owner");
      const [malId, late] = [await idOf(mal), second.email];
      const [, accepted] = await Promise.all([
        remove(ann, malId),
        accept(first, early),
        // Without the header the request would invite to mal's own organization after the removal.
        mal.ask("POST /api/console/invitations", {
          body: { email: late, role: "owner" },
          headers: { "x-tm-org": ann.orgId },
        }),
      ]);
      expect((await accept(first, early)).status).toBe(404);
      expect((await second.do("GET /api/console/received-invitations")).json).toEqual({
        invitations: [],
      });
      const team = await teamOf(ann);
      expect(listAt(team, "invitations")).toEqual([]);
      expect(listAt(team, "members")).toHaveLength(accepted.status === 200 ? 2 : 1);
    }
  });

  test("changes nothing by a request that was authorized before the removal", async () => {
    const ann = await signedIn("judge");
    const mal = await joined(ann, "late", "owner");
    const [annId, malId] = [await idOf(ann), await idOf(mal)];
    await remove(ann, malId);
    const { teamStore: store } = fixture.gateway.backend;
    const by = { kind: "account", id: malId, requestId: null, clientNetwork: null } as const;
    const nowMs = Date.now();
    const link = { tokenHash: Buffer.alloc(32, 3), nowMs, expiresAtMs: nowMs + 60_000 };
    const asked = { email: emailOf("puppet"), role: "owner", invitedBy: malId } as const;
    const made = await invite(ann, emailOf("waiting"), "viewer");
    const { orgId } = ann;
    expect([
      await store.setRole(orgId, { accountId: annId, role: "viewer" }, by),
      await store.remove(orgId, { accountId: annId, why: "removed" }, by),
      await store.invite(orgId, { invitationId: "inv_late", ...asked, ...link }, by),
      await store.renew(orgId, { invitationId: made.id, invitedBy: malId, ...link }, by),
      await store.revoke(orgId, made.id, by),
    ]).toEqual(["not_allowed", "not_allowed", "not_allowed", undefined, false]);
    expect(await teamOf(ann)).toMatchObject({
      members: [{ account_id: annId, role: "owner" }],
      invitations: [{ invitation_id: made.id }],
    });
  });

  test("changes nothing by a request whose body arrives after the removal", async () => {
    const ann = await signedIn("quick");
    const mal = await joined(ann, "slow", "developer");
    const malId = await idOf(mal);
    // So that the next read of the session records its use.
    await runSql(
      fixture.gateway,
      `update console_session set last_seen_at = started_at - interval '1 hour'
      where account_id = $1`,
      [malId],
    );
    const isRead =
      "select last_seen_at > started_at as it from console_session where account_id = $1";
    const body = JSON.stringify({ name: "made too late" });
    const sent = request(`${fixture.url}/api/console/keys`, {
      method: "POST",
      headers: {
        cookie: mal.browser.header(new URL(fixture.url)),
        origin: fixture.url,
        "content-type": "application/json",
        "content-length": String(body.length),
        expect: "100-continue",
      },
    });
    await once(sent, "continue");
    await until("the session of the request is read", async () => {
      const [row] = await readSql(fixture.gateway, isRead, [malId]);
      return row?.["it"] === true;
    });
    await sleep(1_100);
    await remove(ann, malId);
    sent.end(body);
    const { response, text } = await readAnswer(sent);
    const code = at(parsed(text), "error.code");
    expect([response.statusCode, code]).toEqual([409, "other_organization"]);
    expect((await ann.do("GET /api/console/keys")).text).not.toContain("made too late");
  });

  test("leaves invitations that are refused at acceptance, because the inviter's role is checked again", async () => {
    const ann = await signedIn("asked");
    const mal = await joined(ann, "vanished", "owner");
    const puppet = await signedIn("puppet");
    const invitation = await invite(mal, puppet.email, "owner");
    // An older release removes members like this, without revoking invitations.
    await runSql(fixture.gateway, "delete from org_member where account_id = $1 and org_id = $2", [
      await idOf(mal),
      ann.orgId,
    ]);
    expect((await accept(puppet, invitation)).status).toBe(404);
    expect((await find(puppet, invitation.token)).status).toBe(410);
    expect((await puppet.do("GET /api/console/received-invitations")).json).toEqual({
      invitations: [],
    });
  });

  test("can no longer see the organization's first key", async () => {
    const ann = await signedIn("unseen");
    const bob = await joined(ann, "heir", "owner");
    expect((await ann.ask("POST /api/console/reveal")).status).toBe(200);
    await remove(bob, await idOf(ann));
    expect((await ann.ask("POST /api/console/reveal")).status).not.toBe(200);
  });

  test("has the active keys and webhooks whose secrets they made listed for the removal dialog", async () => {
    const ann = await signedIn("keeper");
    const bob = await joined(ann, "maker", "owner");
    await newKey(ann);
    const rotated = await newKey(ann, { name: "rotated by maker" });
    await bob.do(`POST /api/console/keys/${rotated.id}/rotate`, { body: { grace_hours: 0 } });
    const made = await newKey(bob, { name: "of the maker" });
    const gone = await newKey(bob, { name: "gone" });
    const confirm = { body: { confirm_name: "gone" } };
    await bob.do(`POST /api/console/keys/${gone.id}/disable`, confirm);
    const url = "https://8.8.8.8/hooks";
    const hook = await ann.do("POST /api/console/alerts/destinations", {
      body: { channel: "webhook", url },
    });
    const hookId = textAt(hook.json, "destination_id");
    await bob.do(`POST /api/console/alerts/destinations/${hookId}/rotate`);
    const { json } = await ann.do(`GET /api/console/members/${await idOf(bob)}/made`);
    expect(json).toEqual({
      keys: [
        { id: made.id, name: "of the maker", is_maker_known: true },
        { id: rotated.id, name: "rotated by maker", is_maker_known: true },
      ],
      webhooks: [{ id: hookId, name: url, is_maker_known: true }],
      has_more: false,
    });
    const own = (await ann.do(`GET /api/console/members/${await idOf(ann)}/made`)).json;
    expect(at(own, "webhooks")).toMatchObject([{ name: url }]);
  });

  test("has active keys and webhooks listed whose makers the change log does not name any more, and is told when there are more", async () => {
    const ann = await signedIn("archivist");
    const bob = await joined(ann, "veteran", "owner");
    const made = async (): Promise<unknown> =>
      (await ann.do(`GET /api/console/members/${await idOf(bob)}/made`)).json;
    expect(await made()).toEqual({ keys: [], webhooks: [], has_more: false });
    // A row that no entry of the log is about, as after `changes retire`.
    await runSql(fixture.gateway, OLD_WEBHOOK_SQL, [ann.orgId]);
    await runSql(fixture.gateway, OLD_KEYS_SQL, [ann.orgId, 1, 1]);
    const is_maker_known = false;
    expect(await made()).toEqual({
      keys: [{ id: `${ann.orgId}-1`, name: "old 1", is_maker_known }],
      webhooks: [{ id: `${ann.orgId}-hook`, name: "https://8.8.8.8/old", is_maker_known }],
      has_more: false,
    });
    await runSql(fixture.gateway, OLD_KEYS_SQL, [ann.orgId, 2, 101]);
    expect(await made()).toMatchObject({ keys: { length: 100 }, has_more: true });
  });
});

const OLD_WEBHOOK_SQL = `insert into alert_destination (destination_id, org_id, channel, address)
  values ($1 || '-hook', $1, 'webhook', 'https://8.8.8.8/old')`;
const OLD_KEYS_SQL = `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
  select $1 || '-' || n, $1, sha256(convert_to($1 || n, 'UTF8')), 'abcd', 'old ' || n, 'console', 20
  from generate_series($2::integer, $3::integer) n`;

describe("the change log", () => {
  async function linesOf(person: Person): Promise<readonly unknown[]> {
    return listAt((await person.do("GET /api/console/changes")).json, "data");
  }
  async function lineOf(person: Person, action: string): Promise<unknown> {
    return (await linesOf(person)).find((each) => at(each, "action") === action);
  }

  test("names present and former members by address, and stores no address itself", async () => {
    const ann = await signedIn("logger");
    const bob = await joined(ann, "worker", "developer");
    const [annEmail, bobEmail, bobId] = [ann.email, bob.email, await idOf(bob)];
    await newKey(bob, { name: "of the worker" });
    expect((await setRole(ann, bobId, "viewer")).status).toBe(200);
    const made = { actor: bobEmail, target_name: "of the worker" };
    expect(await lineOf(ann, "key.create")).toMatchObject(made);
    expect(await lineOf(ann, "member.role")).toMatchObject({ actor: "You", target_name: bobEmail });
    // Another reader of the log sees the author's address instead of “You”.
    expect(await lineOf(bob, "member.role")).toMatchObject({ actor: annEmail });
    await remove(ann, bobId);
    const former = `${bobEmail} (former member)`;
    expect(await lineOf(ann, "key.create")).toMatchObject({ actor: former });
    expect(await lineOf(ann, "member.remove")).toMatchObject({ target_name: former });
    const { text } = await ann.do("GET /api/console/changes.csv");
    expect(text).toContain(former);
    const stored = await fixture.gateway.backend.changeStore.list({
      orgId: ann.orgId,
      limit: 100,
    });
    expect(JSON.stringify(stored)).not.toContain(bobEmail);
  });

  test("does not show a former organization a person's later e-mail address", async () => {
    const ann = await signedIn("logger");
    const bob = await joined(ann, "mover", "developer");
    const [subject = ""] = bob.email.split("@");
    await remove(ann, await idOf(bob));
    await fixture.signIn({ ...newcomer(subject), email: `${subject}@elsewhere.example` });
    expect(await lineOf(ann, "member.join")).toMatchObject({
      actor: "m…@example.com (former member)",
    });
    expect(JSON.stringify(await linesOf(ann))).not.toContain("elsewhere.example");
  });
});

describe("a session", () => {
  test("is in one organization at a time, and can switch to another of its account", async () => {
    const ann = await signedIn("org");
    const bob = await joined(ann, "two", "viewer");
    const own = bob.orgId;
    expect(await orgOf(bob)).toBe(ann.orgId);
    await bob.do(`POST /api/console/organizations/${own}/switch`);
    expect(await orgOf(bob)).toBe(own);
    // A page that still shows the other organization cannot change this one.
    const headers = { "x-tm-org": ann.orgId };
    const stale = await bob.ask("PATCH /api/console/settings", { body: { name: "X" }, headers });
    expect(stale.status).toBe(409);
    // A link to a file sends no header, so it names the organization in its query.
    for (const file of ["credit-ledger.csv", "requests.csv?model=x", "export.json"]) {
      const link = `GET /api/console/${file}${file.includes("?") ? "&" : "?"}org=`;
      expect((await bob.ask(link + ann.orgId)).status).toBe(409);
      expect((await bob.ask(link + own)).status).toBe(200);
    }
    const stranger = await signedIn("far");
    const foreign = await bob.ask(`POST /api/console/organizations/${stranger.orgId}/switch`);
    expect(foreign.status).toBe(404);
    // The next sign-in opens the organization in which the account worked last.
    await bob.do(`POST /api/console/organizations/${ann.orgId}/switch`);
    const again = await signInAgain(bob);
    expect(again.orgId).toBe(ann.orgId);
    // That is the organization of the session that was used last, not of the newest session.
    await again.do(`POST /api/console/organizations/${own}/switch`);
    const use =
      "update console_session set last_seen_at = now() + interval '1 hour' where org_id = $1";
    await runSql(fixture.gateway, use, [ann.orgId]);
    expect((await signInAgain(bob)).orgId).toBe(ann.orgId);
  });

  test("of a member who accepts another invitation keeps the role, and no second join is logged", async () => {
    const ann = await signedIn("twice");
    const bob = await joined(ann, "moved", "viewer");
    const email = `at-${bob.email}`;
    const invitation = await invite(ann, email, "owner");
    const [subject = ""] = bob.email.split("@");
    const moved = await fixture.signIn({ ...newcomer(subject), email });
    expect((await accept(moved, invitation)).json).toEqual({ org_id: ann.orgId });
    expect(textAt(await sessionOf(moved), "org.role")).toBe("viewer");
    const joins = (await actionsOf(ann)).filter((action) => action === "member.join");
    expect(joins).toHaveLength(1);
  });

  test("is listed for its account, which can end its other sessions only", async () => {
    const laptop = await signedIn("lister");
    const phone = await signInAgain(laptop);
    const stranger = await signedIn("other");
    const sessions = async (person: Person): Promise<readonly unknown[]> =>
      listAt((await person.do("GET /api/console/sessions")).json, "sessions");
    const listed = await sessions(laptop);
    expect(listed).toHaveLength(2);
    const own = listed.find((each) => at(each, "is_this") === true);
    const other = listed.find((each) => at(each, "is_this") === false);
    const end = (person: Person, session: unknown): Promise<HttpAnswer> =>
      person.ask(`POST /api/console/sessions/${textAt(session, "session_id")}/end`);
    expect((await end(stranger, other)).status).toBe(404);
    expect((await end(laptop, own)).status).toBe(404);
    expect((await end(laptop, other)).status).toBe(200);
    expect((await phone.ask("GET /api/console/keys")).status).toBe(401);
    expect(await sessions(laptop)).toHaveLength(1);
    const hash = createHash("sha256").update(laptop.browser.cookie("tm_session") ?? "");
    expect(JSON.stringify(listed)).not.toContain(hash.digest("hex"));
  });
});
