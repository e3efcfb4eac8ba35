import { randomBytes } from "node:crypto";

import { beforeAll, describe, expect } from "vitest";

import { sealConnection } from "../../src/gateway/accounts/postgres-connection-store.ts";
import { openKeyVault } from "../../src/gateway/accounts/key-vault.ts";
import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import type { ActionName } from "../../src/kernel/changes/actions.ts";
import { byGateway, byProviderNews, type ChangedBy } from "../../src/kernel/changes/change.ts";
import { assert } from "../../src/kernel/core/assert.ts";
import {
  createRecordId,
  type KeyId,
  type OrgId,
  type ProviderId,
} from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import {
  account,
  isoInstant,
  operator,
  type OperatorAction,
  type OtherAction,
  testWrites,
  virtualKey,
  type Write,
} from "../support/change-writes.ts";
import { orgWithKey } from "../support/ledger-rows.ts";
import { withBackend } from "../support/postgres.ts";
import { completeSignIn, makeClaim, makeSignIn } from "../support/sign-in.ts";

const backend = withBackend();
const fresh = createVirtualKey();
let orgId: OrgId;
let keyId: KeyId;
let trialOrg: OrgId;
let endpointId: string;
let connectionId: string;

beforeAll(async () => {
  ({ orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 0n }));
});

const stripe = byProviderNews("stripe");
const unusual = { kind: "chat", reason: "refused_requests 200 in 300 s" } as const;
const purchaseId = createRecordId("pur");
const otherPurchase = createRecordId("pur");
function purchase(id: string): Parameters<typeof backend.purchaseStore.create>[0] {
  const nowMs = Date.now();
  const times = { nowMs, expiresAtMs: nowMs + 60_000, countedFromMs: nowMs - 60_000 };
  const amount = { amountMicroUsd: microUsd(5_000_000n), isTestMoney: false, purchasesMax: 5 };
  return { purchaseId: id, orgId, ...amount, ...times };
}

const searchId = createRecordId("search");
const from = { requestId: "sign-in", clientNetwork: "198.51.100.0/24" };
/** The sign-in whose key is revealed and whose session ends. */
const revealing = makeSignIn(makeClaim(), { from });
const { session, nowMs } = revealing;
const byAccount = (id: string) => ({ kind: "account", id, ...from }) satisfies ChangedBy;

const invitationId = createRecordId("inv");
/** The accounts of the organization's owner and of a person who joins it. */
let ownerId: string;
let secondId: string;
async function accountOf(email: string): Promise<string> {
  const signIn = makeSignIn(makeClaim({ email }));
  return (await completeSignIn(backend.identityStore, signIn)).accountId;
}

const LATE = "2099-01-31T00:00:00.000Z";

/** An edit of the created key: by its owner, or by an operator, who may edit any key. */
function edit(
  change: Parameters<typeof backend.accountStore.editKeys>[2],
  before: object | null,
  after: object,
  by = account,
): Write {
  return async () => {
    await backend.accountStore.editKeys(by === account ? orgId : "anyone", [keyId], change, by);
    return { by, target: keyId, before, after };
  };
}

/** The author of changes to the team, which only members whose role allows it may make. */
const owner = () => byAccount(ownerId);

const WRITES: Readonly<Record<Exclude<ActionName, OperatorAction | OtherAction>, Write>> = {
  "org.create": async () => {
    const org = { name: "Trial", email: "someone@example.com" };
    trialOrg = (await backend.accountStore.createOrg(org, operator)).orgId;
    const after = { name: "Trial", email: "s…@example.com" };
    return { by: operator, target: trialOrg, before: null, after };
  },
  "org.rename": async () => {
    const { name } = (await backend.accountStore.findOrg(orgId)) ?? { name: "" };
    await backend.accountStore.renameOrg(orgId, "New name", account);
    return { by: account, target: orgId, before: { name }, after: { name: "New name" } };
  },
  "org.cap": async () => {
    await backend.accountStore.setOrgCap(orgId, microUsd(12_500_000n), account);
    const [before, after] = [{ cap_usd: null }, { cap_usd: "12.500000" }];
    return { by: account, target: orgId, before, after };
  },
  "alert.rules": async () => {
    const balanceBelowMicroUsd = microUsd(5_000_000n);
    const rules = { balanceBelowMicroUsd, hasPurchases: true, hasRestrictions: false };
    await backend.alertStore.changeRules(orgId, { ...rules, capPercents: [80] }, account);
    const none = { balance_below_usd: null, cap_percents: [], purchases: false };
    const rest = { restrictions: false, key_expiry: false, provider_trouble: false };
    const before = { ...none, ...rest };
    const said = { balance_below_usd: "5.000000", cap_percents: ["80"], purchases: true };
    return { by: account, target: orgId, before, after: { ...said, ...rest } };
  },
  "alert.destination": async () => {
    const [destinationId, address] = [createRecordId("dst"), "someone@example.com"];
    const wanted = { destinationId, channel: "email", address, kinds: null } as const;
    await backend.alertStore.addDestination(orgId, wanted, account);
    const after = { channel: "email", address: "s…@example.com" };
    return { by: account, target: destinationId, before: null, after };
  },
  "alert.secret": async () => {
    const [destinationId, address] = [createRecordId("dst"), "https://example.com/hook"];
    await backend.query(
      `insert into alert_destination (destination_id, org_id, channel, address, sealed_secret)
      values ($1, $2, 'webhook', $3, 'sealed')`,
      [destinationId, orgId, address],
    );
    await backend.alertStore.rotateSecret(orgId, destinationId, Buffer.from("new"), account);
    const after = { address: "https://example.com/…" };
    return { by: account, target: destinationId, before: null, after };
  },
  "topup.rule": async () => {
    const amounts = {
      belowMicroUsd: microUsd(10_000_000n),
      amountMicroUsd: microUsd(50_000_000n),
    };
    const rule = { isOn: true, ...amounts, monthMaxMicroUsd: microUsd(200_000_000n) };
    await backend.topUpStore.setRule(orgId, rule, account);
    const said = { below_usd: "10.000000", amount_usd: "50.000000", month_max_usd: "200.000000" };
    return { by: account, target: orgId, before: null, after: { on: true, ...said } };
  },
  "topup.pause": async () => {
    await backend.topUpStore.pause(orgId, "operator", operator);
    const after = { on: false, reason: "operator" };
    return { by: operator, target: orgId, before: { on: true }, after };
  },
  "card.save": async () => {
    await backend.topUpStore.keepCustomer(orgId, false, "cus_1");
    const card = { cardId: "pm_1", brand: "visa", last4: "4242", expMonth: 12, expYear: 2030 };
    const at = { isTestMoney: false, fromMs: Date.now(), nowMs: Date.now() };
    await backend.topUpStore.saveCard({ orgId, customerId: "cus_1", card, ...at }, stripe);
    const after = { brand: "visa", card: "4242" };
    return { by: stripe, target: "pm_1", before: null, after };
  },
  "card.remove": async () => {
    await backend.topUpStore.removeCard(orgId, false, account);
    return { by: account, target: "pm_1", before: { card: "4242" }, after: null };
  },
  "member.invite": {
    prepare: async () => {
      const member = { email: "first@example.com", role: "owner" } as const;
      ownerId = await accountOf(member.email);
      await backend.teamStore.add(orgId, member, operator);
    },
    run: async () => {
      const by = owner();
      const wanted = { email: "new@example.com", role: "viewer", invitedBy: by.id } as const;
      const times = { nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 };
      const link = { tokenHash: randomBytes(32), ...times };
      await backend.teamStore.invite(orgId, { invitationId, ...wanted, ...link }, by);
      const after = { email: "n…@example.com", role: "viewer", expires_at: isoInstant };
      return { by, target: invitationId, before: null, after };
    },
  },
  "member.uninvite": async () => {
    await backend.teamStore.revoke(orgId, invitationId, owner());
    const before = { email: "n…@example.com", role: "viewer", expires_at: isoInstant };
    return { by: owner(), target: invitationId, before, after: null };
  },
  "member.join": {
    prepare: async () => {
      secondId = await accountOf("second@example.com");
    },
    run: async () => {
      const member = { email: "second@example.com", role: "billing" } as const;
      await backend.teamStore.add(orgId, member, operator);
      const after = { email: "s…@example.com", role: "billing" };
      return { by: operator, target: secondId, before: null, after };
    },
  },
  "member.role": async () => {
    await backend.teamStore.setRole(orgId, { accountId: secondId, role: "owner" }, owner());
    const [before, after] = [{ role: "billing" }, { role: "owner" }];
    return { by: owner(), target: secondId, before, after };
  },
  "member.leave": async () => {
    const by = byAccount(secondId);
    await backend.teamStore.remove(orgId, { accountId: secondId, why: "left" }, by);
    const before = { role: "owner", email: "s…@example.com" };
    return { by, target: secondId, before, after: null };
  },
  "member.remove": {
    prepare: async () => {
      const member = { email: "second@example.com", role: "viewer" } as const;
      await backend.teamStore.add(orgId, member, operator);
    },
    run: async () => {
      await backend.teamStore.remove(orgId, { accountId: secondId, why: "removed" }, owner());
      const before = { role: "viewer", email: "s…@example.com" };
      return { by: owner(), target: secondId, before, after: null };
    },
  },
  "company.change": async () => {
    const taxId = { type: "eu_vat", value: "DE123456789" } as const;
    const place = { addressLines: ["1 Main St"], city: "Berlin", postalCode: "10115" };
    const more = { country: "DE", taxId, purchaseOrder: "" };
    const company = { legalName: "Acme Ltd", ...place, ...more };
    await backend.companyStore.change(orgId, company, account);
    const shown = { legal_name: "Acme Ltd", address_lines: ["1 Main St"], city: "Berlin" };
    const ids = { postal_code: "10115", country: "DE", tax_id: "eu_vat DE123456789" };
    const after = { ...shown, ...ids, purchase_order: "" };
    return { by: account, target: orgId, before: null, after };
  },
  "org.policy": async () => {
    await backend.rulesStore.setPolicy(orgId, { only: ["acme-ai"], timeoutMs: 900 }, operator);
    const after = { only: ["acme-ai"], timeout_ms: 900, ignore: null, prompt_logging: null };
    return { by: operator, target: orgId, before: null, after };
  },
  "org.keys-may-set-limits": async () => {
    await backend.rulesStore.setKeysMaySetOrgLimits(orgId, true, account);
    return { by: account, target: orgId, before: { allowed: false }, after: { allowed: true } };
  },
  "key.create": async () => {
    const { digest, label } = fresh;
    const limits = { requestsPerMinuteCeiling: 60, caps: { month: microUsd(1n) } };
    const key = { orgId, name: "ci", origin: "console", digest, label, ...limits } as const;
    const made = await backend.accountStore.createOwnKey(key, account);
    assert(made !== "too_many", "there is room");
    ({ keyId } = made);
    const after = { name: "ci", origin: "console", rpm: 60, cap_usd: "0.000001" };
    return { by: account, target: keyId, before: null, after };
  },
  // Somebody pastes a key into the name field, and the log hides it.
  "key.rename": edit(
    { name: `mine ${fresh.raw}` },
    { name: "ci" },
    { name: "mine tm_vk_[redacted]" },
  ),
  "key.cap": edit({ caps: { month: null } }, { cap_usd: "0.000001" }, { cap_usd: null }, operator),
  "key.week-cap": edit(
    { caps: { week: microUsd(2n) } },
    { cap_usd: null },
    { cap_usd: "0.000002" },
    operator,
  ),
  "key.day-cap": edit({ caps: { day: microUsd(1n) } }, { cap_usd: null }, { cap_usd: "0.000001" }),
  "key.tags": edit({ tags: ["batch", "eu"] }, { tags: [] }, { tags: ["batch", "eu"] }),
  "key.rotate": edit(
    { rotate: { digest: randomBytes(32), label: "tm_vk_new", oldUntilMs: Date.parse(LATE) } },
    null,
    { old_works_until: LATE },
  ),
  "key.expiry": edit({ expiresAtMs: Date.parse(LATE) }, { expires_at: null }, { expires_at: LATE }),
  "key.models": edit({ models: ["acme/nib"] }, { models: null }, { models: ["acme/nib"] }),
  "limit.change": {
    prepare: () =>
      backend.rulesStore.changeLimit(orgId, selfLimit(), { requestsPerMinute: 9 }, virtualKey),
    run: async () => {
      const change = { requestsPerMinute: null, concurrent: 2 };
      await backend.rulesStore.changeLimit(orgId, selfLimit(), change, virtualKey);
      const which = { scope: "key", source: "self", of_one_key: true, model: null, tpm: null };
      const before = { ...which, rpm: 9, concurrency: null };
      const after = { ...which, rpm: null, concurrency: 2 };
      return { by: virtualKey, target: keyId, before, after };
    },
  },
  "key.disable": edit({ disable: true }, { disabled_at: null }, { disabled_at: isoInstant }),
  "endpoint.add": async () => {
    const limits = { requestsPerSecond: 3 };
    const endpoint = { orgId, providerId: "private-ai", limits };
    const made = await backend.rulesStore.createEndpoint(endpoint, operator);
    assert(made !== undefined && made !== "taken", "it is made");
    ({ endpointId } = made);
    const shown = { provider: "private-ai", rps: 3, rpm: null };
    const after = expect.objectContaining(shown) as unknown;
    return { by: operator, target: endpointId, before: null, after };
  },
  "endpoint.remove": async () => {
    await backend.rulesStore.removeEndpoint(endpointId, operator);
    const before = expect.objectContaining({ provider: "private-ai", rps: 3 }) as unknown;
    return { by: operator, target: endpointId, before, after: null };
  },
  "connection.add": async () => {
    const vault = openKeyVault(Buffer.alloc(32, 7).toString("base64"));
    assert(vault !== undefined, "the key is one");
    const wanted = { orgId, providerId: "acme-ai" as ProviderId, keyId: null, name: "ours" };
    const connection = sealConnection(vault, { ...wanted, providerKey: "sk-customer-0123456789" });
    ({ connectionId } = connection);
    await backend.connectionStore.create(connection, account);
    const after = { provider: "acme-ai", name: "ours", key_id: null };
    return { by: account, target: connectionId, before: null, after };
  },
  "connection.disable": async () => {
    await backend.connectionStore.disable(connectionId, orgId, account);
    const [before, after] = [{ disabled_at: null }, { disabled_at: isoInstant }];
    return { by: account, target: connectionId, before, after };
  },
  "credit.grant": async () => {
    const grant = { orgId, amountMicroUsd: microUsd(2_000_000n), ref: "march" };
    await backend.creditStore.grant(grant, operator);
    const after = { amount_usd: "2.000000", ref: "march", is_trial: false };
    return { by: operator, target: orgId, before: null, after };
  },
  "purchase.start": async () => {
    await backend.purchaseStore.create(purchase(purchaseId), account);
    const after = { amount_usd: "5.000000", is_test_money: false };
    return { by: account, target: purchaseId, before: null, after };
  },
  "purchase.grant": async () => {
    const paid = { purchaseId, paymentId: "pi_1", receiptUrl: "https://receipt.example/1" };
    await backend.purchaseStore.grant(paid);
    const after = { amount_usd: "5.000000", payment: "pi_1" };
    return { by: stripe, target: purchaseId, before: null, after };
  },
  "purchase.claim": {
    prepare: () => backend.purchaseStore.claim(claim(false)),
    run: async () => {
      await backend.purchaseStore.claim(claim(true));
      const what = { claim: "re_1", kind: "refund", amount_usd: "1.000000" };
      const before = { ...what, is_reversed: false, is_over: false };
      const after = { ...what, is_reversed: true, is_over: true };
      return { by: stripe, target: purchaseId, before, after };
    },
  },
  "purchase.state": {
    prepare: () => backend.purchaseStore.create(purchase(otherPurchase), account),
    run: async () => {
      await backend.purchaseStore.decide(otherPurchase, "expired");
      const [before, after] = [{ state: "created" }, { state: "expired" }];
      return { by: stripe, target: otherPurchase, before, after };
    },
  },
  "hold.place": async () => {
    const { kind: family, reason } = unusual;
    const times = { ageMs: 0, limitedMs: 600_000, repeatMs: 86_400_000 };
    await backend.usageHoldStore.record({ orgId: trialOrg, family, reason, ...times });
    const after = { ...unusual, state: "limited", until: isoInstant };
    return { by: byGateway("unusual use"), target: trialOrg, before: null, after };
  },
  "hold.lift": async () => {
    await backend.usageHoldStore.lift(trialOrg, undefined, operator);
    const before = { ...unusual, state: "limited", until: isoInstant };
    return { by: operator, target: trialOrg, before, after: null };
  },
  "optimize.start": async () => {
    const secret = { digest: randomBytes(32), label: "tm_vk_new" };
    const key = { keyId: createRecordId("key") as KeyId, ...secret, requestsPerMinute: 60 };
    const asked = { name: "cheaper", objective: "lowest_cost", judgeModelId: null } as const;
    const size = { prompts: 3, callsPlanned: 6, budgetMicroUsd: microUsd(1_000n) };
    const models = { modelIds: ["test/a", "test/b"], leaseMs: 60_000 };
    const search = { searchId, orgId, ...asked, ...size, ...models, key };
    await backend.optimizeStore.begin(search, 2, account);
    const after = { name: "cheaper", models: ["test/a", "test/b"], budget_usd: "0.001000" };
    return { by: account, target: searchId, before: null, after };
  },
  "optimize.end": async () => {
    await backend.optimizeStore.stop(orgId, searchId, account);
    const [before, after] = [{ state: "running" }, { state: "stopped" }];
    return { by: account, target: searchId, before, after };
  },
  "key.reveal": {
    prepare: () => backend.identityStore.resolveSignIn(revealing),
    run: async () => {
      const { accountId } = await ownerOfSession();
      // Showing the key again adds no second entry.
      await backend.identityStore.showReveal(session.sessionId, nowMs, from);
      await backend.identityStore.showReveal(session.sessionId, nowMs, from);
      const [before, after] = [{ shown: false }, { shown: true }];
      return { by: byAccount(accountId), target: accountId, before, after };
    },
  },
  "key.saved": async () => {
    const { accountId } = await ownerOfSession();
    await backend.identityStore.endReveal(session.sessionId, nowMs, from);
    const [before, after] = [{ saved: false }, { saved: true }];
    return { by: byAccount(accountId), target: accountId, before, after };
  },
  "session.end": async () => {
    const { accountId } = await ownerOfSession();
    const { sessionId } = session;
    await backend.identityStore.endSession({ sessionId, nowMs, reason: "signed-out", from });
    const [before, after] = [{ session: "active" }, { session: "ended" }];
    return { by: byAccount(accountId), target: accountId, before, after };
  },
};

const selfLimit = () => ({ source: "self", scope: "key", keyId }) as const;

function claim(isReversed: boolean): Parameters<typeof backend.purchaseStore.claim>[0] {
  const what = { claimId: "re_1", purchaseId, kind: "refund" } as const;
  return { ...what, amountMicroUsd: microUsd(1_000_000n), isReversed, isOver: isReversed };
}

async function ownerOfSession(): Promise<{ readonly accountId: string }> {
  const found = await backend.identityStore.findSession(session.sessionId);
  assert(found !== undefined, "the session is there");
  return found;
}

describe("an organization's write adds one change-log entry with its author and the values before and after:", () => {
  testWrites(() => backend, WRITES);
});
