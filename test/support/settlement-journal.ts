import { afterAll, expect } from "vitest";
import type { AttemptId, KeyId, ModelId, OrgId, ProviderId } from "../../src/kernel/core/ids.ts";
import { picoUsd } from "../../src/kernel/core/money.ts";
import type { CloseRow } from "../../src/ledger/ledger-store.ts";
import { settlementAuditQuery } from "../../src/ledger/audit/settlement-audit.ts";
import {
  closeRow,
  marginPinOf,
  orgWithKey,
  pinMargin,
  pinPrices,
  reserveRow,
  usageOwing,
  voidRow,
} from "./ledger-rows.ts";
import { withBackend, type FreshBackend, tamper } from "./postgres.ts";
import { withResource } from "./with-resource.ts";

export interface JournaledAttempt {
  readonly provider: string;
  /** The instant of admission. Default: `closed`. */
  readonly admitted?: string;
  /** The instant of the end. Default: now. */
  readonly closed?: string;
  /** The cost in pico-dollars. `void`: no usage was observed. `unknown`: the instance died. */
  readonly cost: bigint | "void" | "unknown";
  /** Pico-dollars owed to the provider at its own prices. Default: the cost. */
  readonly owed?: bigint;
  readonly reserveMicroUsd?: bigint;
  readonly model?: string;
  readonly upstreamModel?: string;
}

const BATCH_ROWS = 500;
const RESERVE_MICRO_USD = 10_000_000n;
const ATTEMPT_EPOCH_MS = Date.UTC(2025, 0);

/** Opens books and a journal for the tests of a file; their audit must pass afterwards. */
export function withSettlementBooks(): {
  readonly backend: FreshBackend;
  readonly journal: SettlementJournal;
} {
  const backend = withBackend();
  const journal = withResource(
    () => SettlementJournal.open(backend),
    () => undefined,
  );
  afterAll(async () => {
    expect(await brokenSettlement(backend)).toEqual([]);
    for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
  });
  return { backend, journal };
}

/** Writes attempts through the ledger itself, and then sets their times back. */
export class SettlementJournal {
  readonly #backend: FreshBackend;
  readonly #org: { readonly orgId: OrgId; readonly keyId: KeyId };
  #written = 0n;

  private constructor(
    backend: FreshBackend,
    org: { readonly orgId: OrgId; readonly keyId: KeyId },
  ) {
    this.#backend = backend;
    this.#org = org;
  }

  static async open(backend: FreshBackend): Promise<SettlementJournal> {
    await backend.ledgerBatchStore.maintain();
    return new SettlementJournal(
      backend,
      await orgWithKey(backend, { creditMicroUsd: 4_000_000_000_000_000_000n }),
    );
  }

  /** Writes attempts that all end now or all end earlier; returns their ids in the same order. */
  async write(attempts: readonly JournaledAttempt[]): Promise<readonly AttemptId[]> {
    await this.#pinPrices(new Set(attempts.map(({ provider }) => provider)));
    const ids = attempts.map((attempt) => this.#idOf(attempt));
    const isPast = attempts.some(({ closed }) => closed !== undefined);
    if (isPast) await this.#makePartitions(ids);
    const member = await this.#backend.ledgerBatchStore.join("journal", 60_000);
    const { ledgerBatchStore } = this.#backend;
    for (let from = 0; from < attempts.length; from += BATCH_ROWS) {
      const block = attempts.slice(from, from + BATCH_ROWS);
      const idAt = (n: number): AttemptId => ids[from + n] ?? (0n as AttemptId);
      const rows = block.map((each, n) => this.#reserveRow(each, idAt(n)));
      await ledgerBatchStore.hold(member, ...rows);
      await ledgerBatchStore.closeBatch(
        block.map((each, n) => closing(each.cost, idAt(n), each.owed)),
      );
    }
    if (isPast) await this.#setClocks(attempts, ids);
    return ids;
  }

  async correct(
    id: AttemptId,
    at: string,
    { cost, owed }: { readonly cost: bigint | "void"; readonly owed?: bigint },
  ): Promise<void> {
    const verdicts = await this.#backend.ledgerBatchStore.closeBatch([closing(cost, id, owed)]);
    if (verdicts[0]?.kind !== "corrected") throw new Error("not corrected");
    const sql = "update attempt set corrected_at = $2 where attempt_id = $1";
    await tamper(this.#backend, sql, [id, at]);
  }

  #idOf({ admitted, closed }: JournaledAttempt): AttemptId {
    const at = admitted ?? closed;
    const ms = (at === undefined ? Date.now() : Date.parse(at)) - ATTEMPT_EPOCH_MS;
    return ((BigInt(ms) << 22n) + this.#written++) as AttemptId;
  }

  #reserveRow(attempt: JournaledAttempt, attemptId: AttemptId): ReturnType<typeof reserveRow> {
    return reserveRow({ ...this.#org, attemptId }, attempt.reserveMicroUsd ?? RESERVE_MICRO_USD, {
      providerId: attempt.provider as ProviderId,
      pricePinId:
        attempt.owed === undefined
          ? `pin of ${attempt.provider}`
          : marginPinOf(attempt.provider as ProviderId),
      modelId: (attempt.model ?? "acme/small") as ModelId,
      upstreamModelId: attempt.upstreamModel ?? "small-2026",
    });
  }

  async #pinPrices(providers: ReadonlySet<string>): Promise<void> {
    for (const provider of providers) {
      const providerId = provider as ProviderId;
      const prices = { completion: 1n };
      await pinPrices(this.#backend, { pinId: `pin of ${provider}`, providerId, prices });
      await pinMargin(this.#backend, providerId);
    }
  }

  async #makePartitions(ids: readonly AttemptId[]): Promise<void> {
    const days = new Set(
      ids.map((id) => new Date(Number(id >> 22n) + ATTEMPT_EPOCH_MS).toISOString().slice(0, 10)),
    );
    await this.#backend.query(
      "select ensure_attempt_partition(d) from unnest($1::date[]) as t(d)",
      [[...days]],
    );
  }

  async #setClocks(attempts: readonly JournaledAttempt[], ids: readonly AttemptId[]) {
    await tamper(
      this.#backend,
      `update attempt a set created_at = t.admitted, closed_at = t.closed
      from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) as t(id, admitted, closed)
      where a.attempt_id = t.id`,
      [
        ids.map(String),
        attempts.map(({ admitted, closed }) => admitted ?? closed),
        attempts.map(({ closed }) => closed),
      ],
    );
  }
}

function closing(
  cost: JournaledAttempt["cost"],
  attemptId: AttemptId,
  owed: bigint | undefined,
): CloseRow {
  if (cost === "void") return voidRow(attemptId);
  const margin = owed === undefined ? {} : { usage: usageOwing(owed), owedPicoUsd: picoUsd(owed) };
  if (cost !== "unknown") return closeRow(attemptId, 0n, { costPicoUsd: picoUsd(cost), ...margin });
  return voidRow(attemptId, { basis: "unknown_after_crash" });
}

export async function brokenSettlement(
  backend: FreshBackend,
): Promise<readonly Record<string, unknown>[]> {
  return await backend.query(
    `select what, found, expected from (${settlementAuditQuery(undefined).sql}) x`,
  );
}
