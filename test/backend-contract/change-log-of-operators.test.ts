import { randomBytes } from "node:crypto";

import { beforeAll, describe, expect } from "vitest";

import { byGateway } from "../../src/kernel/changes/change.ts";
import type { ModelId, ProviderId } from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import {
  isoInstant,
  operator,
  type OperatorAction,
  type OtherAction,
  testWrites,
  type Write,
} from "../support/change-writes.ts";
import { dayOf, retirementOf, withOldBooks } from "../support/old-days.ts";

const books = withOldBooks();
const { run } = retirementOf(books);

// Retires and drops 1 January 2025, for which every fresh test database has a partition.
beforeAll(() => retireOldest(true));

const period = { providerId: "acme-ai", startMs: Date.UTC(2025, 3, 10) };
const periodTarget = expect.stringMatching(/^acme-ai 2\d{3}-/) as unknown;
const listing = { providerId: "lab", modelId: "m" };

const WRITES: Readonly<Record<Exclude<OperatorAction, OtherAction>, Write>> = {
  "console-link.create": async () => {
    const email = "ann@example.com";
    const link = { tokenHash: randomBytes(32), email, expiresAtMs: Date.now() };
    await books.backend.identityStore.links.addClaim(link, operator);
    const after = { expires_at: isoInstant };
    return { by: operator, target: "a…@example.com", before: null, after };
  },
  "customer.look-up": async () => {
    const after = { asked: "a…@example.com", found: 0 };
    const change = { action: "customer.look-up", orgId: null, target: "customers" } as const;
    await books.backend.changeStore.record({ ...change, before: null, after }, operator);
    return { by: operator, target: "customers", before: null, after };
  },
  "price.change": async () => {
    const named = { providerId: "priced" as ProviderId, modelId: "m" as ModelId };
    const rest = { cachedPrompt: 0n, cacheWrite: 0n, internalReasoning: 0n };
    const prices = { ...rest, prompt: 1_250_000n, completion: 2_500_000n };
    await books.backend.ledgerBatchStore.ensurePricePins([{ pinId: "a pin", ...named, prices }]);
    const new_usd_per_million_tokens = ["m: input 1.25, output 2.5"];
    const prices_sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown;
    const after = { new_usd_per_million_tokens, prices_sha256 };
    return { by: byGateway("catalog"), target: "priced", before: null, after };
  },
  "verdict.record": async () => {
    const asked = { upstreamModelId: "m", manifestSha256: "ab".repeat(32), checks: [] };
    const verdict = { verdict: "pass", source: "run", checkedAtMs: 0 } as const;
    await books.backend.verdictStore.record([{ ...listing, ...asked, ...verdict }], operator);
    const found = { verdict: "pass", source: "run", manifest_sha256: asked.manifestSha256 };
    const after = { ...found, checked_at: "1970-01-01T00:00:00.000Z" };
    return { by: operator, target: "lab m", before: null, after };
  },
  "listing.suspect": async () => {
    const breaches = { answers: 9, substituted: 3, usageMissing: 0, usageImpossible: 0 };
    const rest = { boundExceeded: 0, wrongFinish: 0, unreadable: 0 };
    await books.backend.verdictStore.suspect(listing, { ...breaches, ...rest });
    const after = { ...breaches, ...rest };
    return { by: byGateway("live checks"), target: "lab m", before: null, after };
  },
  "settlement.close": {
    prepare: () => books.fill(dayOf("2025-04-10")),
    run: async () => {
      const terms = { mode: "arrears", interval: "monthly" } as const;
      const untilMs = Date.now();
      const request = { listed: new Map([["acme-ai", terms]]), untilMs, providerId: "acme-ai" };
      await books.pretendThen();
      const { closed } = await books.backend.settlementStore.closeDuePeriods(request, operator);
      expect(closed).toHaveLength(1);
      period.startMs = closed[0]?.period.startMs ?? 0;
      const payable_usd = expect.stringMatching(/^0\.00\d{4}$/) as unknown;
      const after = { end: isoInstant, mode: "arrears", payable_usd };
      return { by: operator, target: periodTarget, before: null, after };
    },
  },
  "settlement.reconcile": async () => {
    const sums = { theirPicoUsd: picoUsd(2_000_000n), ourPicoUsd: picoUsd(3n) };
    const comparison = { ...sums, isEqual: false, lines: null };
    const claimed = { ...period, sha256: new Uint8Array(32), comparison };
    await books.backend.settlementStore.recordClaim(claimed, operator);
    const amounts = { theirs_usd: "0.000002000000", ours_usd: "0.000000000003" };
    const after = { statement_sha256: "0".repeat(64), ...amounts };
    return { by: operator, target: periodTarget, before: null, after };
  },
  "settlement.pay": async () => {
    await books.backend.settlementStore.pay({ ...period, ref: "bank 1" }, operator);
    const amount_usd = expect.stringMatching(/^0\.00\d{4}$/) as unknown;
    const after = { amount_usd, ref: "bank 1" };
    return { by: operator, target: periodTarget, before: null, after };
  },
  "settlement.deposit": async () => {
    const what = { amountMicroUsd: microUsd(7_000_000n), ref: "bank 2" };
    await books.backend.settlementStore.deposit({ providerId: "acme-ai", ...what }, operator);
    const after = { amount_usd: "7.000000", ref: "bank 2" };
    return { by: operator, target: "acme-ai", before: null, after };
  },
  "ledger.retire": async () => {
    await retireOldest(false);
    const debit_usd = expect.stringMatching(/^\d+\.\d{6}$/) as unknown;
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown;
    const after = { attempts: "5", debit_usd, sha256 };
    return { by: operator, target: "2025-04-10", before: null, after };
  },
  "ledger.drop": async () => {
    await retireOldest(true);
    const [before, after] = [{ in_database: true }, { in_database: false }];
    return { by: operator, target: "2025-04-10", before, after };
  },
  "changes.retire": {
    prepare: async () => {
      await books.backend.query(
        `insert into change (position, at, actor_kind, actor_id, action, target)
        values (-1, now() - interval '500 days', 'operator', 'ann', 'org.create', 'old')`,
      );
    },
    run: async () => {
      expect(await books.backend.changeStore.retire(400, operator)).toBe(1);
      const after = { rows: 1, older_than_days: 400 };
      return { by: operator, target: "change log", before: null, after };
    },
  },
};

async function retireOldest(drop: boolean): Promise<void> {
  expect((await run("days", { drop, by: operator })).stopped).toBeUndefined();
}

describe("an operator's write adds one change-log entry with its author and the values before and after:", () => {
  testWrites(() => books.backend, WRITES);
});
