import {
  createRequestId,
  type AttemptId,
  type KeyId,
  type ModelId,
  type OrgId,
  type ProviderId,
} from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { type Usage, ZERO_USAGE } from "../../src/kernel/core/usage.ts";
import type { CloseRow, PricePin, ReserveRow } from "../../src/ledger/ledger-store.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { addKey, addOrg } from "./add-key.ts";
import { testOperator } from "./test-operator.ts";

let keysMade = 0;

export async function orgWithKey(
  backend: PostgresBackend,
  options: { readonly creditMicroUsd: bigint; readonly keyCapMicroUsd?: bigint },
): Promise<{ readonly orgId: OrgId; readonly keyId: KeyId }> {
  const orgId = await addOrg(backend);
  if (options.creditMicroUsd > 0n) {
    const amountMicroUsd = microUsd(options.creditMicroUsd);
    await backend.creditStore.grant({ orgId, amountMicroUsd, ref: `start ${orgId}` }, testOperator);
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
  const caps = { month: capMicroUsd === undefined ? null : microUsd(capMicroUsd) };
  const names = { name: `key ${keysMade}`, label: "tm-label-000" };
  return (await addKey(backend, orgId, { ...names, digest, caps })).keyId;
}

export async function pinPrices(
  backend: PostgresBackend,
  {
    prices,
    ...change
  }: Partial<Omit<PricePin, "prices">> & { readonly prices?: Partial<PricePin["prices"]> } = {},
): Promise<void> {
  await backend.ledgerBatchStore.ensurePricePins([
    {
      pinId: "pin-1",
      providerId: "acme-ai" as ProviderId,
      modelId: "acme/small" as ModelId,
      prices: {
        prompt: 1n,
        cachedPrompt: 1n,
        cacheWrite: 1n,
        completion: 10_000_000_000_000n,
        internalReasoning: 1n,
        ...prices,
      },
      ...change,
    },
  ]);
}

/** Pico-dollars owed for an output token. Any other costs 1, or 2 if it is cached for an hour. */
const OWED_FOR_OUTPUT = 10_000_000_000_000n;

/** Pins customer prices and the prices owed to the provider, which `usageOwing` relies on. */
export async function pinMargin(backend: PostgresBackend, providerId: ProviderId): Promise<void> {
  const prices = { completion: OWED_FOR_OUTPUT, cacheWrite1h: 2n };
  const pinId = `${providerId} owed`;
  const sheets = [{ abovePromptTokens: 0, pinId }];
  await pinPrices(backend, { pinId, providerId, prices, sheets });
  await pinPrices(backend, {
    pinId: marginPinOf(providerId),
    providerId,
    prices: { cacheWrite1h: 3n },
    purchasePinId: pinId,
  });
}

export function marginPinOf(providerId: ProviderId): string {
  return `${providerId} with margin`;
}

/** Returns a usage for which the provider is owed this much at the prices of `pinMargin`. */
export function usageOwing(owedPico: bigint): Usage {
  const rest = Number(owedPico % OWED_FOR_OUTPUT);
  const completion = Number(owedPico / OWED_FOR_OUTPUT);
  // Each token that is cached for an hour is owed at 2 pico-dollars, every other one at 1.
  const hour = Math.min(5, Math.floor(rest / 2));
  const buckets = { ...ZERO_USAGE, prompt: rest - 2 * hour, cacheWrite: hour, completion };
  return hour === 0 ? buckets : { ...buckets, cacheWrite1h: hour };
}

export function reserveRow(
  of: { readonly orgId: OrgId; readonly keyId: KeyId; readonly attemptId: AttemptId },
  reserveMicroUsd: bigint,
  change: Partial<ReserveRow> = {},
): ReserveRow {
  return {
    ...of,
    requestId: createRequestId(systemClock.nowMs()),
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

/** Returns a closing that costs `costMicroUsd` plus half a micro-dollar, to test rounding. */
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

/** Continues the books in this month; it may be an earlier one only if nothing has been booked. */
export async function moveBooksTo(
  backend: { query(sql: string, values: unknown[]): Promise<unknown> },
  month: string,
): Promise<void> {
  await backend.query("select ensure_transfer_partition($1)", [month]);
  await backend.query("select setval('ledger_position', month_position($1), false)", [month]);
}
