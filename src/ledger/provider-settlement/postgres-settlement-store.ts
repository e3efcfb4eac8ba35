import { DatabaseError, type Pool, type PoolClient } from "pg";

import {
  type Change,
  type ChangedBy,
  type ChangeLog,
  assert,
  type Facts,
  formatExactUsd,
  formatUsd,
  microUsd,
  type MicroUsd,
  picoUsd,
  type Public,
  liftTimeLimits,
  queryOne,
  readRows,
  type Row,
} from "../../kernel/index.ts";
import {
  bearLostLines,
  type ClosedPeriodFile,
  type LostClaim,
  type LostLine,
  type PutBackOutcome,
} from "./lost-costs.ts";
import { putBackPeriod } from "./put-back-period.ts";
import { closeDuePeriods } from "./settlement-close.ts";
import {
  inSettlement,
  moveBetweenPlatformAccounts,
  type PlatformMove,
} from "./settlement-moves.ts";
import {
  balanceColumns,
  BALANCES_SQL,
  claimColumns,
  type ClaimComparison,
  CLAIMS_SQL,
  comparisonColumns,
  ENTRIES_SQL,
  entryColumns,
  lineColumns,
  LINES_SQL,
  periodColumns,
  PERIODS_SQL,
  type ProviderBalance,
  type ProviderPeriod,
  type SettlementEntry,
} from "./settlement-rows.ts";
import {
  describePeriod,
  SettlementFault,
  type ClosingOutcome,
  type ClosingRequest,
  type PeriodName,
  type SettlementStatement,
} from "./settlement-store.ts";

const ENTRIES_PER_BLOCK = 1_000;
const UNIQUE_VIOLATION = "23505";
const PAYOUT_ACCOUNT = "cash:payouts";

/** The debts to providers, by period. Each record is written in one durable transaction. */
export class PostgresSettlementStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Closes each period that is over and has ended attempts, once even if several processes try. */
  closeDuePeriods(request: ClosingRequest, by: ChangedBy): Promise<ClosingOutcome> {
    return closeDuePeriods({ pool: this.#pool, changes: this.#changes }, request, by);
  }

  /** Lists closed periods, newest first: at most `limit`, or all if no limit is given. */
  async periods(providerId?: string, limit?: number): Promise<readonly ProviderPeriod[]> {
    const values = [providerId ?? null, null, limit ?? null];
    return await readRows(this.#pool, periodColumns, PERIODS_SQL, values);
  }

  async balances(providerId?: string): Promise<readonly ProviderBalance[]> {
    return await readRows(this.#pool, balanceColumns, BALANCES_SQL, [providerId ?? null]);
  }

  async statement(of: PeriodName): Promise<SettlementStatement | undefined> {
    const period = await findPeriod(this.#pool, of);
    if (period === undefined) return undefined;
    const name = [of.providerId, new Date(of.startMs)];
    const lines = await readRows(this.#pool, lineColumns, LINES_SQL, name);
    const claims = await readRows(this.#pool, claimColumns, CLAIMS_SQL, name);
    return { period, lines, claims };
  }

  /** Yields a period's attempts that are in the journal, in blocks, by id, on one snapshot. */
  async *entries(period: ProviderPeriod): AsyncGenerator<readonly SettlementEntry[]> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin isolation level repeatable read, read only");
      await liftTimeLimits(client);
      await client.query(`declare entry no scroll cursor for ${ENTRIES_SQL}`, [
        period.providerId,
        new Date(period.startMs),
        new Date(period.endMs),
      ]);
      for (;;) {
        const block = await readRows(client, entryColumns, `fetch ${ENTRIES_PER_BLOCK} from entry`);
        if (block.length === 0) return;
        yield block;
      }
    } finally {
      await client.query("rollback").catch(() => undefined);
      client.release();
    }
  }

  /** Records a payment in advance, once per reference. Rejects with `SettlementFault`. */
  async deposit(
    of: { readonly providerId: string; readonly amountMicroUsd: MicroUsd; readonly ref: string },
    by: ChangedBy,
  ): Promise<{ readonly created: boolean; readonly balance: ProviderBalance }> {
    assert(of.amountMicroUsd > 0n, "a deposit is more than nothing");
    const debit = `deposit:${of.providerId}`;
    return await inSettlement(this.#changes, by, async (client, note) => {
      const isNew = await moveOnce(client, {
        kind: "provider_deposit",
        debit,
        credit: PAYOUT_ACCOUNT,
        amount: of.amountMicroUsd,
        ref: of.ref,
      });
      const balance = await queryOne<Row>(client, BALANCES_SQL, [of.providerId]);
      const after = { amount_usd: formatUsd(of.amountMicroUsd), ref: of.ref };
      if (isNew) note(created("settlement.deposit", of.providerId, after));
      return { created: isNew, balance: balanceColumns.read(balance) };
    });
  }

  /** Records the payment of a period in arrears, once, in full. Rejects with `SettlementFault`. */
  async pay(
    of: PeriodName & { readonly ref: string },
    by: ChangedBy,
  ): Promise<{ readonly created: boolean; readonly period: ProviderPeriod }> {
    return await inSettlement(this.#changes, by, async (client, note, nowMs) => {
      const period = await payablePeriod(client, of);
      const { payment, payableMicroUsd } = period;
      if (payment?.ref === of.ref) return { created: false, period };
      if (payment !== null) {
        const problem = `${describePeriod(of)} was paid with ${payment.ref}`;
        throw new SettlementFault("paid_before", problem);
      }
      const made = await moveOnce(client, {
        kind: "provider_payment",
        debit: `payable:${of.providerId}`,
        credit: PAYOUT_ACCOUNT,
        amount: payableMicroUsd,
        ref: of.ref,
      });
      // An equal transfer exists, so this reference has paid another period of the same amount.
      if (!made) throw refTaken(of.ref);
      await client.query(
        "insert into provider_payment (provider_id, start_at, ref) values ($1, $2, $3)",
        [of.providerId, new Date(of.startMs), of.ref],
      );
      const after = { amount_usd: formatUsd(payableMicroUsd), ref: of.ref };
      note(created("settlement.pay", periodTarget(of), after));
      return { created: true, period: { ...period, payment: { ref: of.ref, paidAtMs: nowMs } } };
    });
  }

  /** Enters costs that the books lost in a restore. Returns a verdict on each line. */
  async bearLost(
    providerId: string,
    claim: LostClaim,
    by: ChangedBy,
  ): Promise<readonly LostLine[]> {
    return await inSettlement(this.#changes, by, async (client, note) => {
      const judged = await bearLostLines(client, providerId, claim);
      const borne = judged.filter(({ verdict }) => verdict === "borne");
      if (borne.length === 0) return judged;
      const cost = borne.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n);
      const after = { lines: borne.length, cost_usd: formatExactUsd(picoUsd(cost)) };
      note(created("settlement.bear-lost", providerId, after));
      return judged;
    });
  }

  /** After a restore, closes a period again from its export. Rejects with `SettlementFault`. */
  async putBack(file: ClosedPeriodFile, by: ChangedBy): Promise<PutBackOutcome> {
    return await inSettlement(this.#changes, by, async (client, note) => {
      const outcome = await putBackPeriod(client, file);
      if (!outcome.created) return outcome;
      const after = {
        end: new Date(file.endMs).toISOString(),
        payable_usd: formatUsd(file.payableMicroUsd),
        lost_attempts: Number(outcome.lostClaims),
        lost_usd: formatExactUsd(picoUsd(outcome.lostPicoUsd)),
      };
      note(created("settlement.put-back", periodTarget(file), after));
      return outcome;
    });
  }

  /** Stores a comparison; a second one of the same file and period changes nothing. */
  async recordClaim(
    of: PeriodName & { readonly sha256: Uint8Array; readonly comparison: ClaimComparison },
    by: ChangedBy,
  ): Promise<void> {
    const { theirPicoUsd, ourPicoUsd } = of.comparison;
    const name = [of.providerId, new Date(of.startMs), Buffer.from(of.sha256)];
    const values = [...name, ...Object.values(comparisonColumns.record(of.comparison))];
    await this.#changes.write(by, async (client, note) => {
      const { rowCount } = await client.query(RECORD_CLAIM_SQL, values);
      if (rowCount !== 1) return;
      const after = {
        statement_sha256: Buffer.from(of.sha256).toString("hex"),
        theirs_usd: formatExactUsd(theirPicoUsd),
        ours_usd: formatExactUsd(ourPicoUsd),
      };
      note(created("settlement.reconcile", periodTarget(of), after));
    });
  }
}

export type SettlementStore = Public<PostgresSettlementStore>;

const RECORD_CLAIM_SQL = `
  insert into provider_statement (provider_id, start_at, sha256, ${comparisonColumns.sql})
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (provider_id, start_at, sha256) do nothing`;

async function findPeriod(
  through: Pool | PoolClient,
  of: PeriodName,
): Promise<ProviderPeriod | undefined> {
  const values = [of.providerId, new Date(of.startMs), 1];
  return (await readRows(through, periodColumns, PERIODS_SQL, values))[0];
}

async function payablePeriod(client: PoolClient, of: PeriodName): Promise<ProviderPeriod> {
  const period = await findPeriod(client, of);
  if (period === undefined) {
    throw new SettlementFault("no_such_period", `${describePeriod(of)} is not a closed period`);
  }
  if (period.mode === "prepaid") {
    throw new SettlementFault("nothing_to_pay", `${describePeriod(of)} was taken from the deposit`);
  }
  if (period.payableMicroUsd === microUsd(0n)) {
    throw new SettlementFault("nothing_to_pay", `${describePeriod(of)} owes nothing`);
  }
  return period;
}

/** Returns false if the transfer exists already. Throws if another one has the reference. */
async function moveOnce(client: PoolClient, move: PlatformMove): Promise<boolean> {
  const { ref, kind, debit, credit, amount } = move;
  const values = [ref, kind, debit, credit, amount];
  const [known] = (await client.query<{ same: boolean }>(SAME_MOVE_SQL, values)).rows;
  if (known?.same === true) return false;
  if (known !== undefined) throw refTaken(ref);
  try {
    await moveBetweenPlatformAccounts(client, [move]);
    return true;
  } catch (fault) {
    // Another transfer, such as a grant of credit, has taken the reference meanwhile.
    if (fault instanceof DatabaseError && fault.code === UNIQUE_VIOLATION) throw refTaken(ref);
    throw fault;
  }
}

const SAME_MOVE_SQL = `
  select (kind, debit_account, credit_account, amount) = ($2, $3, $4, $5::bigint) as same
  from transfer where ref = $1`;

function refTaken(ref: string): SettlementFault {
  return new SettlementFault("ref_taken", `reference ${ref} belongs to another payment`);
}

function created(action: Change["action"], target: string, after: Facts): Change {
  return { action, orgId: null, target, before: null, after };
}

function periodTarget({ providerId, startMs }: PeriodName): string {
  return `${providerId} ${new Date(startMs).toISOString()}`;
}
