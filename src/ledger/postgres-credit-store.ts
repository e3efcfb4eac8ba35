import { DatabaseError, type Pool, type PoolClient } from "pg";

import {
  assert,
  type ChangedBy,
  type ChangeLog,
  type Facts,
  columns,
  Fault,
  formatUsd,
  instantMs,
  micro,
  type MicroUsd,
  microUsd,
  type OrgId,
  orNull,
  type Public,
  queryOne,
  toReason,
  type RecordOf,
  usdOrNull,
  type Row,
  text,
} from "../kernel/index.ts";

const ENTRIES_MAX = 1_000;

export class PostgresCreditStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Credits a wallet once per reference. Rejects with `CreditFault`. */
  async grant(grant: Grant, by: ChangedBy): Promise<GrantOutcome> {
    const { orgId, amountMicroUsd, ref, isTrial = false } = grant;
    assert(amountMicroUsd > 0n, "a grant is more than nothing");
    try {
      return await this.#changes.write(by, async (client, note) => {
        const before = await readThreshold(client, orgId);
        const { created, balance } = await queryOne<{ created: boolean; balance: bigint }>(
          client,
          "select created, balance from grant_credit($1, $2, $3, $4)",
          [orgId, amountMicroUsd, ref, isTrial],
        );
        const after = { amount_usd: formatUsd(amountMicroUsd), ref, is_trial: isTrial };
        if (created) {
          note({ action: "credit.grant", orgId, target: orgId, before: null, after });
          // A grant may also set the threshold of the low-balance alert. The change log drops this
          // change if the threshold is the same before and after.
          const now = await readThreshold(client, orgId);
          note({ action: "alert.rules", orgId, target: orgId, before, after: now });
        }
        return { created, balanceMicroUsd: microUsd(balance) };
      });
    } catch (error) {
      const code = error instanceof DatabaseError ? error.code : undefined;
      if (code === "TM404") throw new CreditFault("unknown_org", toReason(error), error);
      if (code === "TM409") throw new CreditFault("ref_taken", toReason(error), error);
      throw error;
    }
  }

  /** Lists the entries of a wallet, newest first, at most 1,000. */
  async ledgerEntries(orgId: OrgId): Promise<readonly LedgerEntry[]> {
    const values = [`wallet:${orgId}`, orgId, ENTRIES_MAX, `receivable:${orgId}`];
    return (await this.#pool.query<Row>(ENTRIES_SQL, values)).rows.map(entryColumns.read);
  }
}

export async function readThreshold(
  client: Pick<PoolClient, "query">,
  orgId: OrgId,
): Promise<Facts> {
  const { rows } = await client.query<{ below: bigint | null }>(THRESHOLD_SQL, [orgId]);
  const below = rows[0]?.below ?? null;
  return { balance_below_usd: usdOrNull(below === null ? null : microUsd(below)) };
}

const THRESHOLD_SQL = "select balance_below as below from alert_rules where org_id = $1";

export type CreditStore = Public<PostgresCreditStore>;

const entryColumns = columns({
  atMs: instantMs("at"),
  /** The kind of event that moved the money: `grant`, `purchase`, `settle`, … */
  kind: text("kind"),
  /** The reference of the transfer, or the request id. */
  ref: text("ref"),
  /** The model of a charged attempt; null for other entries. */
  detail: orNull(text("detail")),
  /** Positive if it was credited to the wallet, negative if it was debited. */
  amountMicroUsd: micro("amount"),
});

// A refund or dispute is one entry with its full amount; the wallet's later payment of the debt is
// not listed. Debits are read from attempts, which the audit compares with the transfers.
const ENTRIES_SQL = `
  (select at, kind, ref, amount, null as detail from transfer
  where credit_account = $1 and attempt_id is null
  order by transfer_id desc limit $3)
  union all
  (select at, kind, ref, -amount, null from transfer
  where debit_account = $4 and attempt_id is null
  order by transfer_id desc limit $3)
  union all
  (select closed_at, case state when 'settled' then 'settle' else state end, request_id::text,
    -debit, model_id
  from attempt where org_id = $2 and debit > 0
  order by request_id desc limit $3)
  order by at desc limit $3`;

interface Grant {
  readonly orgId: OrgId;
  readonly amountMicroUsd: MicroUsd;
  /** Identifies this grant permanently and across all organizations. */
  readonly ref: string;
  /**
   * True for trial credit. It ends the lower rate limit of organizations without credit, but not
   * the restrictions after unusual use; any other credit counts as bought and ends both.
   */
  readonly isTrial?: boolean;
}

interface GrantOutcome {
  /** False if the same grant was made before; this call then changed nothing. */
  readonly created: boolean;
  /** Credits minus debits and minus what the organization owes. Holds are not subtracted. */
  readonly balanceMicroUsd: MicroUsd;
}

export type LedgerEntry = RecordOf<typeof entryColumns>;

/** `ref_taken`: the reference belongs to another transfer, such as a grant of another amount. */
export class CreditFault extends Fault {
  readonly kind: "unknown_org" | "ref_taken";

  constructor(kind: CreditFault["kind"], message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export interface Balance {
  /** Credits minus debits and minus what is owed after refunds and disputes; may be negative. */
  readonly settledMicroUsd: MicroUsd;
  readonly heldMicroUsd: MicroUsd;
}

export interface MonthSpend {
  readonly spentMicroUsd: MicroUsd;
  readonly inFlightMicroUsd: MicroUsd;
  readonly capMicroUsd: MicroUsd | null;
  readonly resetAtMs: number;
}

export interface PeriodSpend extends MonthSpend {
  readonly keyId: string;
  readonly period: "week" | "day";
  readonly capMicroUsd: MicroUsd;
}

export interface SpendReads {
  balance(orgId: OrgId): Promise<Balance>;
  monthSpend(orgId: OrgId, keyId?: string): Promise<MonthSpend>;
  /** Returns the spend against weekly, then daily caps: of `keyId`, or of all keys without it. */
  periodSpend(orgId: OrgId, keyId?: string): Promise<readonly PeriodSpend[]>;
}
