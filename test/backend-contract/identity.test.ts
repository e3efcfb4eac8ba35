import { randomBytes } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type {
  ResolvedSignIn,
  SignInClaim,
  SignInToResolve,
} from "../../src/account/identity/identity-store.ts";
import type { IdentityStore } from "../../src/account/identity/postgres-identity-store.ts";
import { addKey } from "../support/add-key.ts";
import { brokenBooks } from "../support/books.ts";
import { findKey } from "../support/find-key.ts";
import { withBackend } from "../support/postgres.ts";
import { completeSignIn, makeClaim, SIGN_IN_MS, makeSignIn } from "../support/sign-in.ts";
import { testOperator } from "../support/test-operator.ts";

const DAY_MS = 24 * 3_600_000;

let store: IdentityStore;
const backend = withBackend();

beforeAll(async () => {
  store = backend.identityStore;
});

function resolve(claim: SignInClaim): Promise<ResolvedSignIn> {
  return completeSignIn(store, makeSignIn(claim));
}

/** The same person after a change of the address. */
function moved(claim: SignInClaim, email: string): SignInClaim {
  return { ...claim, email, emailNorm: email };
}

async function destinationsOf(orgId: OrgId): Promise<readonly string[]> {
  return (await backend.alertStore.destinations(orgId)).map(({ address }) => address);
}

async function addDestination(orgId: OrgId, destinationId: string, address: string): Promise<void> {
  const wanted = { destinationId, address, channel: "email", kinds: null } as const;
  await backend.alertStore.addDestination(orgId, wanted, testOperator);
}

async function keysOf(orgId: OrgId): Promise<readonly string[]> {
  return (await backend.accountStore.listKeys(orgId)).map((key) => key.origin);
}

async function isVerifiedOrg(orgId: OrgId): Promise<unknown> {
  const rows = await backend.query("select email_verified from org where org_id = $1", [orgId]);
  return rows[0]?.["email_verified"];
}

describe("an unknown person", () => {
  test("with a verified address gets an account, an organization with a wallet, and a trial key", async () => {
    const claim = makeClaim({ name: "Ada Lovelace" });
    const signIn = makeSignIn(claim);
    const resolved = await completeSignIn(store, signIn);
    expect(resolved).toMatchObject({ kind: "created", isVerified: true, hasReveal: true });
    const org = await backend.accountStore.findOrg(resolved.orgId);
    expect(org).toMatchObject({ name: "Ada Lovelace", email: claim.email, balanceMicroUsd: 0n });
    const record = await findKey(backend.keyStore, signIn.trialKey.digest);
    expect(record).toMatchObject({
      orgId: resolved.orgId,
      origin: "trial",
      requestsPerMinuteCeiling: 20,
      emailVerified: true,
      funded: false,
    });
  });

  test("with the verified address of an account joins it, and gets no second trial", async () => {
    const ada = makeClaim();
    const first = await resolve(ada);
    const { accountId, orgId } = first;
    const again = await resolve(makeClaim({ email: ada.email, issuer: "https://other.example" }));
    expect(again).toMatchObject({ kind: "linked", accountId, orgId, hasReveal: false });
    expect(await keysOf(orgId)).toEqual(["trial"]);
    expect(await store.listIdentities(accountId)).toHaveLength(2);
  });

  test("whose address is not verified gets an empty organization without a key", async () => {
    const resolved = await resolve(makeClaim({ isVerified: false }));
    expect(resolved).toMatchObject({ kind: "created", isVerified: false, hasReveal: false });
    expect(await keysOf(resolved.orgId)).toEqual([]);
    expect(await isVerifiedOrg(resolved.orgId)).toBe(false);
  });
});

test("an account with an unverified address shares nothing with the account that verified that address", async () => {
  const early = makeClaim({ email: "victim@example.com", isVerified: false });
  const before = await resolve(early);
  const victim = await resolve(makeClaim({ email: "victim@example.com" }));
  expect(victim).toMatchObject({ kind: "created", isVerified: true, hasReveal: true });
  const again = await resolve(early);
  expect(again).toMatchObject({ accountId: before.accountId, isVerified: false, kind: "known" });
  const late = await resolve(makeClaim({ email: "victim@example.com", isVerified: false }));
  for (const attacker of [again, late]) {
    expect(attacker).toMatchObject({ isVerified: false });
    expect(attacker.accountId).not.toBe(victim.accountId);
    expect(attacker.orgId).not.toBe(victim.orgId);
    expect(await keysOf(attacker.orgId)).toEqual([]);
  }
});

describe("a person who comes back", () => {
  test("has the same account, and after a change of address is known by the new one", async () => {
    const ada = makeClaim();
    const { accountId, orgId } = await resolve(ada);
    expect(await resolve(ada)).toMatchObject({ kind: "known", accountId, orgId, hasReveal: false });
    const email = "ada@new.example";
    expect(await resolve(moved(ada, email))).toMatchObject({ kind: "known", isEmailTaken: false });
    expect(await backend.accountStore.findOrg(orgId)).toMatchObject({ email });
    // A user with the new address is the same person, and the old address is free again.
    expect(await resolve(makeClaim({ email }))).toMatchObject({ kind: "linked", accountId });
    expect(await resolve(makeClaim({ email: ada.email }))).toMatchObject({ kind: "created" });
  });

  test("gets alerts at the new address after a change of address, and has no destination twice", async () => {
    const ada = makeClaim();
    const { orgId } = await resolve(ada);
    expect(await destinationsOf(orgId)).toEqual([ada.email]);
    await resolve(moved(ada, "moved@new.example"));
    expect(await destinationsOf(orgId)).toEqual(["moved@new.example"]);
    await addDestination(orgId, "dst_back", ada.email.toUpperCase());
    await resolve(ada);
    expect(await destinationsOf(orgId)).toEqual([ada.email.toUpperCase()]);
  });

  test("is not found by the stop links in alerts to the former address, which others may read now", async () => {
    const ada = makeClaim();
    const { orgId } = await resolve(ada);
    const [destination] = await backend.alertStore.destinations(orgId);
    await backend.alertStore.sendTest(orgId, destination?.destinationId ?? "");
    const hash = randomBytes(32);
    await backend.query(
      `update alert_delivery d set stop_hash = $1 from alert_event e
      where e.event_id = d.event_id and e.org_id = $2`,
      [hash, orgId],
    );
    expect(await backend.alertStore.findLink(hash)).toMatchObject({ address: ada.email });
    await resolve(moved(ada, "unseen@new.example"));
    expect(await backend.alertStore.findLink(hash)).toBeUndefined();
    expect(await backend.alertStore.useLink(hash)).toBeUndefined();
    expect(await backend.alertStore.destinations(orgId)).toMatchObject([
      { address: "unseen@new.example", disabledAtMs: null },
    ]);
  });

  test("with an address that another account has keeps the old address", async () => {
    const bob = makeClaim();
    const ada = makeClaim();
    const bobs = await resolve(bob);
    const adas = await resolve(ada);
    const again = await resolve(moved(ada, bob.email));
    expect(again).toMatchObject({ accountId: adas.accountId, isEmailTaken: true });
    expect(await backend.accountStore.findOrg(adas.orgId)).toMatchObject({ email: ada.email });
    expect(await resolve(bob)).toMatchObject({ accountId: bobs.accountId });
  });

  test("with an unverified address keeps the verified address", async () => {
    const ada = makeClaim();
    const first = await resolve(ada);
    const again = await resolve({ ...moved(ada, "x@evil.example"), isVerified: false });
    expect(again).toMatchObject({ accountId: first.accountId, isVerified: true });
    expect(await backend.accountStore.findOrg(first.orgId)).toMatchObject({ email: ada.email });
  });
});

describe("an address that is verified later", () => {
  test("opens the existing account, with its first trial key", async () => {
    const ada = makeClaim({ isVerified: false });
    const { accountId, orgId } = await resolve(ada);
    const after = await resolve({ ...ada, isVerified: true });
    const same = { accountId, orgId, isVerified: true };
    expect(after).toMatchObject({ kind: "verified", ...same, hasReveal: true });
    expect(await keysOf(orgId)).toEqual(["trial"]);
    expect(await isVerifiedOrg(orgId)).toBe(true);
  });

  test("and changed in the same sign-in is the only address that gets alerts", async () => {
    const early = makeClaim({ isVerified: false });
    await resolve(early);
    const email = `own-${early.email}`;
    const { orgId, kind } = await resolve({ ...moved(early, email), isVerified: true });
    expect(kind).toBe("verified");
    expect(await destinationsOf(orgId)).toEqual([email]);
  });

  test("keeps the alert destination that was already added for it", async () => {
    const early = makeClaim({ isVerified: false });
    const { orgId } = await resolve(early);
    await addDestination(orgId, "dst_own", early.email);
    await resolve({ ...early, isVerified: true });
    const kept = await backend.alertStore.destinations(orgId);
    expect(kept.map(({ destinationId }) => destinationId)).toEqual(["dst_own"]);
  });

  test("and belongs to an older account is linked to it, and its empty organization is deleted", async () => {
    const ada = makeClaim();
    const { accountId, orgId } = await resolve(ada);
    const second = makeClaim({ email: ada.email, isVerified: false });
    const empty = await resolve(second);
    const joined = await resolve({ ...second, isVerified: true });
    expect(joined).toMatchObject({ kind: "linked", accountId, orgId, hasReveal: false });
    expect(await backend.accountStore.findOrg(empty.orgId)).toBeUndefined();
    expect(await keysOf(orgId)).toEqual(["trial"]);
  });

  test.each([
    ["verified", 2, async () => undefined],
    // The older organization does not learn of other browsers than the one that signs in.
    ["linked", 1, async (email: string) => void (await resolve(makeClaim({ email })))],
    [
      "adopted",
      2,
      async (email: string) => {
        await backend.accountStore.createOrg({ name: "Acme", email }, testOperator);
      },
    ],
  ])(
    "signs out every browser that signed in before and has not expired, also if the account is then %s, and its log has %i of the ends",
    async (kind, recorded, prepare) => {
      const early = makeClaim({ isVerified: false });
      await prepare(early.email);
      const [taken, own] = [makeSignIn(early), makeSignIn(early)];
      const { session: lasting } = makeSignIn(early);
      const expired = makeSignIn(early, {
        nowMs: SIGN_IN_MS - 8 * DAY_MS,
        session: { ...lasting, expiresAtMs: SIGN_IN_MS - DAY_MS },
      });
      for (const each of [expired, taken, own]) await completeSignIn(store, each);
      const { sessionId } = own.session;
      const next = makeSignIn(
        { ...early, isVerified: true },
        { previous: { sessionId, reveal: undefined } },
      );
      const { accountId, orgId, kind: became } = await completeSignIn(store, next);
      expect(became).toBe(kind);
      for (const { session } of [taken, own]) {
        const ended = await store.findSession(session.sessionId);
        expect(ended?.endedReason).toBe("signed-out");
      }
      expect(await store.findSession(expired.session.sessionId)).toMatchObject({
        endedReason: null,
      });
      const found = await store.findSession(next.session.sessionId);
      expect(found).toMatchObject({ accountId, isVerified: true, endedReason: null });
      const ends = await backend.query(
        "select from change where org_id = $1 and action = 'session.end'",
        [orgId],
      );
      expect(ends).toHaveLength(recorded);
    },
  );

  test("and belongs to an older account keeps its former organization if that was granted credit", async () => {
    const ada = makeClaim();
    await resolve(ada);
    const second = makeClaim({ email: ada.email, isVerified: false });
    const { orgId } = await resolve(second);
    const amountMicroUsd = microUsd(5_000_000n);
    const grant = { orgId, amountMicroUsd, ref: "by mistake" };
    await backend.creditStore.grant(grant, testOperator);
    await resolve({ ...second, isVerified: true });
    const kept = await backend.accountStore.findOrg(orgId);
    expect(kept).toMatchObject({ balanceMicroUsd: amountMicroUsd });
    expect(await brokenBooks({ backend })).toEqual([]);
  });
});

test("addresses that differ only in the case of a non-ASCII letter belong to different accounts", async () => {
  const [capital, small] = ["Ärger@acme.example", "ärger@acme.example"];
  const ofOperator = { name: "Acme", email: capital };
  const { orgId } = await backend.accountStore.createOrg(ofOperator, testOperator);
  const other = await resolve(makeClaim({ email: small, emailNorm: small }));
  expect(other.kind).toBe("created");
  const owner = await resolve(makeClaim({ email: capital, emailNorm: capital }));
  expect(owner).toMatchObject({ kind: "adopted", orgId });
});

describe("an organization that an operator made for an address", () => {
  async function operatorOrg(email: string): Promise<OrgId> {
    const { orgId } = await backend.accountStore.createOrg({ name: "Acme", email }, testOperator);
    await addKey(backend, orgId);
    return orgId;
  }

  test("goes to the first person who verified that address, with its keys and balance, without a trial key", async () => {
    const oldest = await operatorOrg("Boss@Acme.example");
    await operatorOrg("boss@acme.example");
    const amountMicroUsd = microUsd(7_000_000n);
    await backend.creditStore.grant({ orgId: oldest, amountMicroUsd, ref: "start" }, testOperator);
    const boss = await resolve(makeClaim({ email: "boss@acme.example" }));
    expect(boss).toMatchObject({ kind: "adopted", orgId: oldest, hasReveal: false });
    expect(await keysOf(oldest)).toEqual(["console"]);
    const org = await backend.accountStore.findOrg(oldest);
    expect(org).toMatchObject({ name: "Acme", balanceMicroUsd: amountMicroUsd });
    // The second organization with this address is not given to the person.
    const again = await resolve(makeClaim({ email: "boss@acme.example" }));
    expect(again).toMatchObject({ kind: "linked", orgId: oldest });
  });

  test("is not given to a person before that address is verified", async () => {
    const orgId = await operatorOrg("cfo@acme.example");
    const liar = makeClaim({ email: "cfo@acme.example", isVerified: false });
    const unverified = await resolve(liar);
    expect(unverified.orgId).not.toBe(orgId);
    const verified = await resolve({ ...liar, isVerified: true });
    expect(verified).toMatchObject({ kind: "adopted", orgId, hasReveal: false });
    expect(await backend.accountStore.findOrg(unverified.orgId)).toBeUndefined();
  });
});

const SAME_PERSON = makeClaim();

describe("simultaneous sign-ins:", () => {
  test.each([
    ["eight tabs of one person", (): SignInClaim => SAME_PERSON],
    ["eight identities of one verified address", () => makeClaim({ email: "many@example.com" })],
  ])("%s make one account and one trial key", async (_who, claim) => {
    const all = await Promise.all(Array.from({ length: 8 }, () => resolve(claim())));
    expect(new Set(all.map((each) => `${each.accountId} ${each.orgId}`)).size).toBe(1);
    expect(all.filter((each) => each.hasReveal)).toHaveLength(1);
    expect(await keysOf(all[0]?.orgId as OrgId)).toEqual(["trial"]);
  });

  test("of several people who change to the same free address, only one gets it", async () => {
    const people = [makeClaim(), makeClaim(), makeClaim()];
    for (const each of people) await resolve(each);
    const all = await Promise.all(people.map((each) => resolve(moved(each, "free@example.com"))));
    expect(all.filter((each) => !each.isEmailTaken)).toHaveLength(1);
    expect(new Set(all.map((each) => each.accountId)).size).toBe(3);
  });

  test("an organization cannot have a second trial key", async () => {
    const { orgId } = await resolve(makeClaim());
    const second = addKey(backend, orgId, { origin: "trial" });
    await expect(second).rejects.toThrow(/one_trial_key_per_org/);
  });
});

describe("starting credit", () => {
  const welcomeMicroUsd = microUsd(1_000_000n);
  const signIn = (claim: SignInClaim): Promise<ResolvedSignIn> =>
    completeSignIn(store, makeSignIn(claim, { welcomeMicroUsd }));
  const balanceOf = async (orgId: OrgId): Promise<unknown> =>
    (await backend.accountStore.findOrg(orgId))?.balanceMicroUsd;

  test("is granted at the first verified sign-in, lifts the unfunded limit, and is trial credit", async () => {
    const eve = makeClaim({ isVerified: false });
    expect(await balanceOf((await signIn(eve)).orgId)).toBe(0n);
    const verified = makeSignIn({ ...eve, isVerified: true }, { welcomeMicroUsd });
    const { orgId } = await completeSignIn(store, verified);
    expect(await balanceOf(orgId)).toBe(1_000_000n);
    const record = await findKey(backend.keyStore, verified.trialKey.digest);
    expect(record).toMatchObject({ orgId, funded: true });
    const [org] = await backend.query("select bought_at from org where org_id = $1", [orgId]);
    expect(org).toEqual({ bought_at: null });
    const [line] = await backend.creditStore.ledgerEntries(orgId);
    expect(line).toMatchObject({ kind: "grant", amountMicroUsd: 1_000_000n });
    expect(line?.ref).toMatch(/^welcome-credit-[0-9a-f]{32}$/);
  });

  test("is granted once, however often and in whatever way one address signs in", async () => {
    const ada = makeClaim();
    const again = makeClaim({ email: ada.email, issuer: "https://other.example" });
    const all = await Promise.all([ada, ada, again, again].map(signIn));
    expect(new Set(all.map(({ orgId }) => orgId)).size).toBe(1);
    expect(await balanceOf(all[0]?.orgId as OrgId)).toBe(1_000_000n);
  });

  test("is not granted again to an address whose account moved to another address", async () => {
    const ada = makeClaim();
    await signIn(ada);
    await signIn(moved(ada, "elsewhere@new.example"));
    const { orgId } = await signIn(makeClaim({ email: ada.email }));
    expect(await balanceOf(orgId)).toBe(0n);
  });
});

describe("a new key that is revealed to its owner", () => {
  async function withReveal(): Promise<SignInToResolve> {
    const signIn = makeSignIn(makeClaim());
    await store.resolveSignIn(signIn);
    return signIn;
  }

  test("can be shown again until its owner says that it is saved", async () => {
    const { session, trialKey } = await withReveal();
    const { sessionId } = session;
    expect(await store.findReveal(sessionId, SIGN_IN_MS)).toMatchObject({ name: "Trial key" });
    const all = await Promise.all(
      Array.from({ length: 4 }, () => store.showReveal(sessionId, SIGN_IN_MS)),
    );
    for (const each of all) expect(each?.sealedKey.equals(trialKey.sealedKey)).toBe(true);
    const ends = Array.from({ length: 4 }, () => store.endReveal(sessionId, SIGN_IN_MS));
    expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(1);
    expect(await store.showReveal(sessionId, SIGN_IN_MS)).toBeUndefined();
    expect(await store.findReveal(sessionId, SIGN_IN_MS)).toBeUndefined();
  });

  test("is gone after 15 minutes, and other sessions never see it", async () => {
    const { sessionId } = (await withReveal()).session;
    const lateMs = SIGN_IN_MS + 900_000;
    expect(await store.findReveal(sessionId, lateMs)).toBeUndefined();
    expect(await store.showReveal(sessionId, lateMs)).toBeUndefined();
    expect(await store.endReveal(sessionId, lateMs)).toBe(false);
    expect(await store.showReveal(randomBytes(32), SIGN_IN_MS)).toBeUndefined();
  });

  test("is shown only while the session shows its organization", async () => {
    const signIn = makeSignIn(makeClaim());
    const { accountId, orgId } = await completeSignIn(store, signIn);
    const { sessionId } = signIn.session;
    const other = (await resolve(makeClaim())).orgId;
    const joins = "insert into org_member (org_id, account_id, role) values ($1, $2, 'viewer')";
    await backend.query(joins, [other, accountId]);
    expect(await store.switchOrg(sessionId, other)).toBe(true);
    expect(await store.findReveal(sessionId, SIGN_IN_MS)).toMatchObject({ isHere: false });
    expect(await store.showReveal(sessionId, SIGN_IN_MS)).toBeUndefined();
    expect(await store.endReveal(sessionId, SIGN_IN_MS)).toBe(false);
    await store.switchOrg(sessionId, orgId);
    expect(await store.showReveal(sessionId, SIGN_IN_MS)).toBeDefined();
  });

  test("moves with its browser to the next session, but not into another account", async () => {
    const first = await withReveal();
    const { sessionId } = first.session;
    const reveal = await store.findReveal(sessionId, SIGN_IN_MS);
    const previous = { sessionId, reveal };
    const stranger = makeSignIn(makeClaim({ isVerified: false }), { previous });
    expect(await store.resolveSignIn(stranger)).toMatchObject({ hasReveal: false });
    expect(await store.findReveal(stranger.session.sessionId, SIGN_IN_MS)).toBeUndefined();
    const same = makeSignIn(first.claim, { previous });
    expect(await store.resolveSignIn(same)).toMatchObject({ hasReveal: true });
    expect(await store.findReveal(sessionId, SIGN_IN_MS)).toBeUndefined();
    expect(await store.findReveal(same.session.sessionId, SIGN_IN_MS)).toBeDefined();
  });
});

test("an ended session is kept to explain its end, and is deleted within 31 days", async () => {
  const old = makeSignIn(makeClaim());
  await store.resolveSignIn(old);
  const { sessionId } = old.session;
  await store.sweep(SIGN_IN_MS + 8 * DAY_MS);
  // The session is kept, because its browser still shows why it ended.
  expect(await store.findSession(sessionId)).toBeDefined();
  expect(await store.findReveal(sessionId, SIGN_IN_MS)).toBeUndefined();
  await store.sweep(SIGN_IN_MS + 38 * DAY_MS);
  expect(await store.findSession(sessionId)).toBeUndefined();
});
