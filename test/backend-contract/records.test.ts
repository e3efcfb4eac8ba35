import { expect, test } from "vitest";
import { createRequestId, type AttemptId } from "../../src/kernel/core/ids.ts";
import type { CloseRow, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { closeRow, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { withMember, withPricedBackend } from "../support/postgres.ts";

const START_MS = Date.UTC(2026, 3, 10, 12);
const usage = { prompt: 11, cachedPrompt: 3, cacheWrite: 2, completion: 7, internalReasoning: 5 };

let lastAttempt = 0n;

const backend = withPricedBackend();
const member = withMember(backend);

type Of = Awaited<ReturnType<typeof orgWithKey>>;

async function hold(of: Of, change: Partial<ReserveRow> = {}): Promise<ReserveRow> {
  const attemptId = ++lastAttempt as AttemptId;
  const row = reserveRow({ ...of, attemptId }, 1_000n, change);
  await backend.ledgerBatchStore.hold(member, row);
  return row;
}

async function close(...rows: CloseRow[]): Promise<void> {
  await backend.ledgerBatchStore.closeBatch(rows);
}

/** The fields that all attempts of these tests share. */
const common = {
  providerId: "acme-ai",
  upstreamModelId: "small-2026",
  durationMs: 34,
  served: null,
  answered: {},
  reserveMicroUsd: 1_000n,
  sheet: { pinId: "pin-1", abovePromptTokens: 0 },
  prices: {
    prompt: 1n,
    cachedPrompt: 1n,
    cacheWrite: 1n,
    completion: 10_000_000_000_000n,
    internalReasoning: 1n,
  },
};

test("a request shows every attempt with its tokens, outcome and cost", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 100_000n });
  const first = await hold(org, { requestId: createRequestId(START_MS) });
  await close(voidRow(first.attemptId, { final: false, startedAtMs: START_MS + 5 }));
  const more = { requestId: first.requestId, ordinal: 2, stream: true, pricePinId: "gone" };
  const second = await hold(org, more);
  const inFlight = await backend.recordStore.generation(org.orgId, first.requestId);
  expect(inFlight).toMatchObject({ outcome: "in_flight", createdAtMs: START_MS });
  await close(closeRow(second.attemptId, 320n, { startedAtMs: START_MS + 40 }));
  expect(await backend.recordStore.generation(org.orgId, first.requestId)).toEqual({
    requestId: first.requestId,
    keyId: org.keyId,
    modelId: "acme/small",
    route: "/v1/chat/completions",
    stream: false,
    createdAtMs: START_MS,
    outcome: "completed",
    attempts: [
      {
        ...common,
        ordinal: 1,
        startedAtMs: START_MS + 5,
        firstByteMs: null,
        outcome: "failed",
        upstreamStatus: 500,
        errorClass: "upstream_error",
        usage: null,
        debitMicroUsd: 0n,
        basis: "none",
      },
      {
        ...common,
        ordinal: 2,
        startedAtMs: START_MS + 40,
        firstByteMs: 12,
        outcome: "completed",
        upstreamStatus: 200,
        errorClass: null,
        usage,
        debitMicroUsd: 320n,
        basis: "reported",
        sheet: { ...common.sheet, pinId: "gone" },
        prices: null,
      },
    ],
  });
  expect((await backend.usageReports.request(org.orgId, first.requestId))?.request).toMatchObject({
    attempts: 2,
    outcome: "completed",
    debitMicroUsd: 320n,
    firstByteMs: 12,
    durationMs: 68,
  });
});

test("a wallet's entries are its grants and its debits", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const row = await hold(org);
  await close(closeRow(row.attemptId, 321n));
  const entries = await backend.creditStore.ledgerEntries(org.orgId);
  expect(entries).toMatchObject([
    { kind: "settle", ref: row.requestId, detail: "acme/small", amountMicroUsd: -321n },
    { kind: "grant", ref: `start ${org.orgId}`, detail: null, amountMicroUsd: 1_000n },
  ]);
});
