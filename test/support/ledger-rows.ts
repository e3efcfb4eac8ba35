import {
  newRequestId,
  type AttemptId,
  type KeyId,
  type ModelId,
  type OrgId,
  type ProviderId,
} from "../../src/core/ids.ts";
import { microUsd, picoUsd } from "../../src/core/money.ts";
import { systemClock } from "../../src/core/time.ts";
import type { CloseRow, PricePin, ReserveRow } from "../../src/ledger/ledger-store.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";

let keysMade = 0;

/** An organization with credit and one key. */
export async function orgWithKey(
  backend: PostgresBackend,
  options: { readonly creditMicroUsd: bigint; readonly keyCapMicroUsd?: bigint },
): Promise<{ readonly orgId: OrgId; readonly keyId: KeyId }> {
  const { orgId } = await backend.accountStore.createOrg({ name: "Acme", email: "a@example.com" });
  if (options.creditMicroUsd > 0n) {
    const amountMicroUsd = microUsd(options.creditMicroUsd);
    await backend.creditStore.grant({ orgId, amountMicroUsd, ref: `start ${orgId}` });
  }
  return { orgId, keyId: await keyOf(backend, orgId, options.keyCapMicroUsd) };
}

export async function keyOf(
  backend: PostgresBackend,
  orgId: OrgId,
  capMicroUsd?: bigint,
): Promise<KeyId> {
  const digest = Buffer.alloc(32);
  digest.writeUInt32BE(++keysMade);
  const key = await backend.accountStore.createKey({
    orgId,
    name: `key ${keysMade}`,
    origin: "console",
    digest,
    label: "tm-label-000",
    requestsPerMinuteCeiling: 300,
    capMicroUsd: capMicroUsd === undefined ? null : microUsd(capMicroUsd),
  });
  return key.keyId;
}

export async function pinPrices(
  backend: PostgresBackend,
  change: Partial<PricePin> = {},
): Promise<void> {
  await backend.ledgerBatchStore.ensurePricePins([
    {
      pinId: "pin-1",
      providerId: "acme-ai" as ProviderId,
      modelId: "acme/small" as ModelId,
      promptPico: 1n,
      cachedPromptPico: 1n,
      cacheWritePico: 1n,
      completionPico: 10_000_000_000_000n,
      internalReasoningPico: 1n,
      ...change,
    },
  ]);
}

export function reserveRow(
  of: { readonly orgId: OrgId; readonly keyId: KeyId; readonly attemptId: AttemptId },
  reserveMicroUsd: bigint,
  change: Partial<ReserveRow> = {},
): ReserveRow {
  return {
    ...of,
    requestId: newRequestId(systemClock.nowMs()),
    ordinal: 1,
    modelId: "acme/small" as ModelId,
    providerId: "acme-ai" as ProviderId,
    upstreamModelId: "small-2026",
    pricePinId: "pin-1",
    route: "/v1/chat/completions",
    stream: false,
    estimatedTokens: 100,
    reserveMicroUsd: microUsd(reserveMicroUsd),
    ...change,
  };
}

/** A closing with reported usage that costs `costMicroUsd`, and half a micro-dollar more. */
export function closeRow(
  attemptId: AttemptId,
  costMicroUsd: bigint,
  change: Partial<CloseRow> = {},
): CloseRow {
  return {
    attemptId,
    outcome: "completed",
    usage: { prompt: 11, cachedPrompt: 3, cacheWrite: 2, completion: 7, internalReasoning: 5 },
    basis: "reported",
    costPicoUsd: picoUsd(costMicroUsd * 1_000_000n + 500_000n),
    upstreamStatus: 200,
    errorClass: null,
    startedAtMs: systemClock.nowMs(),
    firstByteMs: 12,
    durationMs: 34,
    final: true,
    ...change,
  };
}

/** A closing of an attempt that observed nothing. */
export function voidRow(attemptId: AttemptId, change: Partial<CloseRow> = {}): CloseRow {
  return closeRow(attemptId, 0n, {
    outcome: "failed",
    usage: null,
    basis: "none",
    costPicoUsd: picoUsd(0n),
    upstreamStatus: 500,
    errorClass: "upstream_error",
    firstByteMs: null,
    ...change,
  });
}
