import type { Pool } from "pg";

import {
  byProviderNews,
  type ChangedBy,
  type ChangeLog,
  type Facts,
  assert,
  formatUsd,
  microUsd,
  type MicroUsd,
  type OrgId,
  type Public,
  type Row,
  takeRowsSql,
  usdOrNull,
  readRows,
} from "../../kernel/index.ts";
import { readThreshold } from "../../ledger/index.ts";
import type { Seller } from "./company.ts";
import { lockRuleOfPurchase, pauseTopUp } from "./postgres-top-up-store.ts";
import {
  type KnownPurchase,
  readPurchaseRow,
  type NewPurchase,
  type OpenClaim,
  openClaimColumns,
  type PurchaseClaim,
  type PurchaseRecord,
  type RecoveredPurchase,
  SELECT_PURCHASE_SQL,
  type UngrantedState,
  type WaitingPurchase,
} from "./purchase-store.ts";

const LISTED_MAX = 1_000;
const NAMED_ORGS_MAX = 20;

/**
 * Only PostgreSQL functions move money, under the wallet's lock. Repeated, concurrent or reordered
 * reports change the ledger once.
 */
export class PostgresPurchaseStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Writes nothing if `purchasesMax` purchases were started since `countedFromMs`. */
  async create(purchase: NewPurchase, by: ChangedBy): Promise<"created" | "too_many"> {
    const { purchaseId, orgId, amountMicroUsd, isTestMoney } = purchase;
    const values = [
      purchaseId,
      orgId,
      amountMicroUsd,
      isTestMoney,
      new Date(purchase.nowMs),
      new Date(purchase.expiresAtMs),
      new Date(purchase.countedFromMs),
      purchase.purchasesMax,
    ];
    return await this.#changes.write(by, async (client, note) => {
      const { rowCount } = await client.query(CREATE_SQL, values);
      if (rowCount !== 1) return "too_many";
      const after = { amount_usd: formatUsd(amountMicroUsd), is_test_money: isTestMoney };
      note({ action: "purchase.start", orgId, target: purchaseId, before: null, after });
      return "created";
    });
  }

  async attachSession(purchaseId: string, sessionId: string): Promise<void> {
    const sql = "update purchase set session_id = $2 where purchase_id = $1";
    await this.#pool.query(sql, [purchaseId, sessionId]);
  }

  /** Recreates a purchase that a restored backup lacks; otherwise nothing is written. */
  async recover(
    purchase: RecoveredPurchase,
    by: ChangedBy,
  ): Promise<"recovered" | "known" | "unknown_org"> {
    const { purchaseId, amountMicroUsd, isTestMoney } = purchase;
    const values = [
      purchaseId,
      purchase.orgId,
      amountMicroUsd,
      isTestMoney,
      new Date(purchase.createdAtMs),
      new Date(purchase.expiresAtMs),
      purchase.sessionId,
    ];
    const isRecovered = await this.#changes.write(by, async (client, note) => {
      const { rows } = await client.query<{ org_id: OrgId }>(RECOVER_SQL, values);
      const orgId = rows[0]?.org_id;
      if (orgId === undefined) return false;
      const after = { amount_usd: formatUsd(amountMicroUsd), is_test_money: isTestMoney };
      note({ action: "purchase.recover", orgId, target: purchaseId, before: null, after });
      return true;
    });
    if (isRecovered) return "recovered";
    return (await this.find(purchase.purchaseId)) === undefined ? "unknown_org" : "known";
  }

  /** Lists an organization's purchases, newest first; all of them if `max` is null. */
  async list(orgId: OrgId, max: number | null = LISTED_MAX): Promise<readonly PurchaseRecord[]> {
    const rest = "where p.org_id = $1 order by p.created_at desc, p.purchase_id limit $2";
    return await this.#select(rest, [orgId, max]);
  }

  /** Lists parked purchases (those not yet granted or returned first), then pending purchases. */
  async listWaiting(limit: number): Promise<readonly WaitingPurchase[]> {
    const { rows } = await this.#pool.query<Row>(WAITING_SQL, [limit]);
    return rows.map((row) => {
      const purchase = readPurchaseRow(row);
      return { ...purchase, state: purchase.state === "parked" ? "parked" : "pending" };
    });
  }

  async findOwn(orgId: OrgId, purchaseId: string): Promise<KnownPurchase | undefined> {
    const where = "where p.org_id = $1 and p.purchase_id = $2";
    return (await this.#select(where, [orgId, purchaseId]))[0];
  }

  /** For purchases named by the provider or just created; requests of customers use `findOwn`. */
  async find(purchaseId: string): Promise<KnownPurchase | undefined> {
    return (await this.#select("where p.purchase_id = $1", [purchaseId]))[0];
  }

  async findByPayment(paymentId: string): Promise<KnownPurchase | undefined> {
    return (await this.#select("where p.payment_id = $1", [paymentId]))[0];
  }

  /** Credits the wallet once; true if this call did. Applies earlier refunds and disputes, too. */
  async grant(paid: {
    readonly purchaseId: string;
    readonly paymentId: string | null;
    readonly receiptUrl: string | null;
    readonly method?: string | undefined;
    /** The seller that the receipt stores. Default: a seller without a name. */
    readonly seller?: Seller;
  }): Promise<boolean> {
    const { purchaseId, paymentId, receiptUrl, method = null, seller = NOBODY } = paid;
    return await this.#changes.write(PAYMENT_NEWS, async (client, note) => {
      const values = [purchaseId, paymentId, receiptUrl, method, JSON.stringify(seller)];
      const { rows } = await client.query<GrantedRow>(GRANT_SQL, values);
      const [row] = rows;
      if (row?.answer !== true) return false;
      const { org_id: orgId, micro_usd: amount, was_below: wasBelow } = row;
      const after = { amount_usd: formatUsd(microUsd(amount)), payment: paymentId };
      note({ action: "purchase.grant", orgId, target: purchaseId, before: null, after });
      const before = {
        balance_below_usd: usdOrNull(wasBelow === null ? null : microUsd(wasBelow)),
      };
      const below = await readThreshold(client, orgId);
      note({ action: "alert.rules", orgId, target: orgId, before, after: below });
      return true;
    });
  }

  /** Sets the state; true if it changed. Never reverts a grant, nor a final state to `pending`. */
  async decide(purchaseId: string, state: UngrantedState): Promise<boolean> {
    const from =
      state === "pending" ? "('created')" : "('created', 'pending', 'failed', 'expired')";
    return await this.#changes.write(PAYMENT_NEWS, async (client, note) => {
      const { rows } = await client.query<{ org_id: OrgId; was: string }>(
        `update purchase p set state = $2
        from (
          select purchase_id, state as was from purchase
          where purchase_id = $1 and state in ${from} and state <> $2 for no key update
        ) w
        where p.purchase_id = w.purchase_id returning p.org_id, was`,
        [purchaseId, state],
      );
      const [row] = rows;
      if (row === undefined) return false;
      const { org_id: orgId, was } = row;
      const [before, after] = [{ state: was }, { state }];
      note({ action: "purchase.state", orgId, target: purchaseId, before, after });
      return true;
    });
  }

  /**
   * Takes the amount of a refund or dispute from the wallet, or returns it if the claim is
   * reversed; true if that is new. All claims on a purchase together never take more than it
   * credited. A new claim pauses automatic top-up, which would charge the returned amount again. A
   * reversed claim pauses nothing, nor does a claim on a purchase that is parked and was not
   * granted by hand.
   */
  async claim(claim: PurchaseClaim): Promise<boolean> {
    const { purchaseId, claimId, kind, amountMicroUsd } = claim;
    const values = [purchaseId, claimId, kind, amountMicroUsd, claim.isReversed, claim.isOver];
    return await this.#changes.write(PAYMENT_NEWS, async (client, note) => {
      await lockRuleOfPurchase(client, purchaseId);
      await client.query("select lock_purchase($1)", [purchaseId]);
      const { rows: known } = await client.query<ClaimRow>(KNOWN_CLAIM_SQL, [claimId, purchaseId]);
      const { rows: made } = await client.query<{ answer: boolean }>(CLAIM_SQL, values);
      const { rows: stored } = await client.query<ClaimRow>(KNOWN_CLAIM_SQL, [claimId, purchaseId]);
      assert(stored[0] !== undefined, "a claim that was taken is stored");
      const before = known[0]?.is_reversed == null ? null : claimFacts(claim, known[0]);
      const after = claimFacts(claim, stored[0]);
      const { org_id: orgId, credited_nothing: creditedNothing } = stored[0];
      note({ action: "purchase.claim", orgId, target: purchaseId, before, after });
      const isNew = made[0]?.answer === true;
      if (isNew && !claim.isReversed && !creditedNothing) {
        await pauseTopUp(client, note, { orgId, reason: "payment_returned" });
      }
      return isNew;
    });
  }

  /** The debt of the organization; it is above zero only while its wallet has no free money. */
  async owed(orgId: OrgId): Promise<MicroUsd> {
    const sql = "select owed from account where account_id = $1";
    const { rows } = await this.#pool.query<{ owed: bigint }>(sql, [`wallet:${orgId}`]);
    return microUsd(rows[0]?.owed ?? 0n);
  }

  /** Returns undecided purchases, and recent ones without receipt URL; marks them as checked. */
  async takeUnfinished(
    asked: Readonly<Record<"beforeMs" | "sinceMs" | "nowMs" | "limit", number>>,
  ): Promise<readonly KnownPurchase[]> {
    const times = [asked.beforeMs, asked.sinceMs, asked.nowMs].map(toDate);
    const values = [...times, asked.limit];
    const taken = await this.#pool.query<{ purchase_id: string }>(TAKE_UNFINISHED_SQL, values);
    const ids = taken.rows.map((row) => row.purchase_id);
    return await this.#select("where p.purchase_id = any ($1)", [ids]);
  }

  /** Returns claims that are not final, those never checked first, and marks them as checked. */
  async takeOpenClaims(
    asked: Readonly<Record<"sinceMs" | "limit", number>>,
  ): Promise<readonly OpenClaim[]> {
    const values = [toDate(asked.sinceMs), asked.limit];
    return await readRows(this.#pool, openClaimColumns, TAKE_OPEN_CLAIMS_SQL, values);
  }

  async isEventDone(eventId: string): Promise<boolean> {
    const sql = "select from payment_event where event_id = $1";
    return (await this.#pool.query(sql, [eventId])).rowCount === 1;
  }

  async markEventDone(event: { readonly eventId: string; readonly kind: string }): Promise<void> {
    const sql = "insert into payment_event (event_id, kind) values ($1, $2) on conflict do nothing";
    await this.#pool.query(sql, [event.eventId, event.kind]);
  }

  async forgetEvents(beforeMs: number): Promise<void> {
    await this.#pool.query("delete from payment_event where done_at < $1", [new Date(beforeMs)]);
  }

  /**
   * Returns true to only one process per `everyMs`, which then does the scheduled work `name`. A
   * time beyond two intervals was stored by a host whose clock was ahead, and is not waited for.
   */
  async claimRun(name: string, nowMs: number, everyMs: number): Promise<boolean> {
    const times = [nowMs, nowMs + everyMs, nowMs + 2 * everyMs].map(toDate);
    const result = await this.#pool.query(
      `insert into billing_schedule as t (name, next_at) values ($1, $3)
      on conflict (name) do update set next_at = excluded.next_at
      where t.next_at <= $2 or t.next_at > $4`,
      [name, ...times],
    );
    return result.rowCount === 1;
  }

  /** Counts granted purchases of test money, and names the first organizations that have some. */
  async testMoney(): Promise<{ readonly purchases: number; readonly orgIds: readonly OrgId[] }> {
    type Found = { readonly purchases: bigint; readonly org_ids: readonly OrgId[] };
    const { rows } = await this.#pool.query<Found>(TEST_MONEY_SQL, [NAMED_ORGS_MAX]);
    return { purchases: Number(rows[0]?.purchases ?? 0n), orgIds: rows[0]?.org_ids ?? [] };
  }

  async #select(rest: string, values: readonly unknown[]): Promise<KnownPurchase[]> {
    const result = await this.#pool.query<Row>(`${SELECT_PURCHASE_SQL} ${rest}`, [...values]);
    return result.rows.map(readPurchaseRow);
  }
}

export type PurchaseStore = Public<PostgresPurchaseStore>;

function toDate(ms: number): Date {
  return new Date(ms);
}

const NOBODY: Seller = {
  name: "",
  addressLines: [],
  taxId: "",
  note: "",
  noTaxReason: "",
  url: "",
};

const PAYMENT_NEWS = byProviderNews("stripe");

const WAITING_SQL = `${SELECT_PURCHASE_SQL} where p.state in ('parked', 'pending')
  order by p.state = 'parked' desc, c.is_granted or c.refunds + c.disputes >= p.micro_usd,
    p.created_at desc, p.purchase_id limit $1`;

const GRANT_SQL = `
  select grant_purchase($1, $2, $3, $4, $5) as answer,
    (select org_id from purchase where purchase_id = $1) as org_id,
    (select micro_usd from purchase where purchase_id = $1) as micro_usd,
    (select balance_below from alert_rules join purchase using (org_id) where purchase_id = $1)
      as was_below`;

interface GrantedRow {
  readonly answer: boolean;
  readonly org_id: OrgId;
  readonly micro_usd: bigint;
  readonly was_below: bigint | null;
}

const CLAIM_SQL = "select claim_purchase($1, $2, $3, $4, $5, $6) as answer";

const KNOWN_CLAIM_SQL = `
  select p.org_id, c.is_reversed, c.is_over, p.state = 'parked'
    and not exists (select from transfer_ref t where t.ref = p.purchase_id) as credited_nothing
  from purchase p left join purchase_claim c on c.claim_id = $1 where p.purchase_id = $2`;

interface ClaimRow {
  readonly org_id: OrgId;
  readonly credited_nothing: boolean;
  readonly is_reversed: boolean | null;
  readonly is_over: boolean | null;
}

function claimFacts({ claimId, kind, amountMicroUsd }: PurchaseClaim, row: ClaimRow): Facts {
  const amount_usd = formatUsd(amountMicroUsd);
  return { claim: claimId, kind, amount_usd, is_reversed: row.is_reversed, is_over: row.is_over };
}

// Concurrent purchases may together exceed the limit: it only has to stop floods. One that a host
// with a clock ahead dated after the end of this one does not count.
const CREATE_SQL = `
  insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
    expires_at)
  select $1, $2, $3::bigint, $3::bigint / 10000, $4, $5, $6
  where (select count(*) from purchase where org_id = $2 and created_at > $7 and created_at < $6)
    < $8`;

const RECOVER_SQL = `
  insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
    expires_at, session_id)
  select $1, org_id, $3::bigint, $3::bigint / 10000, $4, $5, $6, $7 from org where org_id = $2
  on conflict do nothing returning org_id`;

const TAKE_UNFINISHED_SQL = takeRowsSql("purchase", "purchase_id", {
  due: `where created_at between $2 and $1
    and (state in ('created', 'pending') or (state = 'granted' and receipt_url is null
      and created_at > $3::timestamptz - interval '1 day'))
    and (checked_at is null or checked_at <= $1)
    order by checked_at nulls first, created_at limit $4`,
  set: "checked_at = now()",
});

const TAKE_OPEN_CLAIMS_SQL = takeRowsSql("purchase_claim", "claim_id", {
  due: `where not is_over and created_at >= $1
    order by checked_at nulls first, claim_id limit $2`,
  set: "checked_at = now()",
  returning: "t.claim_id, kind",
});

const TEST_MONEY_SQL = `
  select count(*) as purchases,
    coalesce((array_agg(distinct org_id))[1:$1], '{}') as org_ids
  from purchase where state = 'granted' and is_test_money`;
