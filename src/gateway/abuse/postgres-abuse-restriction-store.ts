import type { Pool, PoolClient } from "pg";

import {
  bool,
  byGateway,
  type ChangedBy,
  type ChangeLog,
  type Columns,
  columns,
  type ColumnsOf,
  computed,
  instantMs,
  type Note,
  orAbsent,
  type OrgId,
  orNull,
  type Public,
  queryInTime,
  readRows,
  type Row,
  STORE_ANSWER_TIMEOUT_MS,
  text,
  instantOrNull,
} from "../../kernel/index.ts";
import type { CallFamily } from "../../formats/index.ts";
import type { AbuseRestriction } from "../accounts/account-rules.ts";

const LISTED_MAX = 1_000;

/** Stores restrictions for all processes. Handles findings on one organization one at a time. */
export class PostgresAbuseRestrictionStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /**
   * Records a finding and returns the restriction in effect afterwards: `limited`, or `restricted`
   * if a `limited` one has ended recently. If two processes find the same use, only one restriction
   * is made. Undefined if the organization has bought credit, or if no restriction is in effect and
   * the use began before the last restriction was placed or lifted, and so is not new.
   */
  async record(finding: UsageFinding): Promise<AbuseRestriction | undefined> {
    const { orgId, family, reason, ageMs, limitedMs, repeatMs } = finding;
    const record = async (client: PoolClient, note: Note) => {
      await queryInTime(client, { text: LIMITS_SQL });
      // This row is the lock: the second of two concurrent findings sees the result of the first.
      const lock = { text: LOCK_ORG_SQL, values: [orgId] };
      const [org] = (await queryInTime<{ trial: boolean }>(client, lock)).rows;
      if (org?.trial !== true) return undefined;
      const values = [orgId, family, reason, ageMs, limitedMs, repeatMs];
      const [row] = (await queryInTime<Row>(client, { text: RECORD_SQL, values })).rows;
      if (row === undefined) return undefined;
      const hold = holdColumns.read(row);
      const after = { ...holdFacts(hold), reason };
      if (row["is_made"] === true) {
        note({ action: "hold.place", orgId, target: orgId, before: null, after });
      }
      return hold;
    };
    return await this.#changes.write(UNUSUAL_USE, record, STORE_ANSWER_TIMEOUT_MS);
  }

  /** Newest first, at most `LISTED_MAX`. Without `isWithPast`, only the restrictions in effect. */
  async list(filter: {
    readonly orgId?: OrgId;
    readonly isWithPast: boolean;
  }): Promise<readonly AbuseRestrictionRecord[]> {
    const values = [filter.orgId ?? null, filter.isWithPast, LISTED_MAX];
    return await readRows(this.#pool, shownColumns, LIST_SQL, values);
  }

  /**
   * Lifts the restrictions for one family of requests, or for all, and returns them, newest first.
   * The next finding counts as a first one. Only operators see `why`, in the change log.
   */
  async lift(
    orgId: OrgId,
    family: CallFamily | undefined,
    by: ChangedBy,
    why?: string,
  ): Promise<readonly AbuseRestrictionRecord[]> {
    return await this.#changes.write(by, async (client, note) => {
      const lifted = await readRows(client, shownColumns, LIFT_SQL, [orgId, family ?? null]);
      for (const hold of lifted) {
        const before = { ...holdFacts(hold), reason: hold.reason };
        const after = why === undefined ? null : { lifted_because: why };
        note({ action: "hold.lift", orgId, target: orgId, before, after });
      }
      return lifted;
    });
  }
}

export type AbuseRestrictionStore = Public<PostgresAbuseRestrictionStore>;

const UNUSUAL_USE = byGateway("unusual use");

function holdFacts({ family, state, untilMs }: AbuseRestriction) {
  return { kind: family, state, until: instantOrNull(untilMs) };
}

/** Limits how long a finding may wait for the lock on its organization's row. */
const LIMITS_SQL = `
  set local statement_timeout = ${STORE_ANSWER_TIMEOUT_MS};
  set local idle_in_transaction_session_timeout = ${STORE_ANSWER_TIMEOUT_MS}`;

const LOCK_ORG_SQL = `
  select bought_at is null as trial from org where org_id = $1 for no key update`;

const holdProperties: ColumnsOf<AbuseRestriction> = {
  family: text("family"),
  state: text("state"),
  untilMs: orAbsent(instantMs("until_at")),
};

const holdColumns: Columns<AbuseRestriction> = columns(holdProperties);

const RECORD_SQL = `
  with hold as (
    select * from usage_hold where org_id = $1 and family = $2
  ), in_force as (
    select ${holdColumns.sql} from hold
    where lifted_at is null and (until_at is null or until_at > now())
    order by until_at desc nulls first limit 1
  ), repeated as (
    select from hold
    where lifted_at is null and until_at > now() - $6::double precision * interval '1 ms'
  ), known as (
    -- The finding began before this hold did, or before an operator reviewed it.
    select from hold
    where greatest(created_at, lifted_at) > now() - $4::double precision * interval '1 ms'
  ), made as (
    insert into usage_hold (org_id, family, reason, state, until_at)
    select $1, $2, $3,
      case when exists (select from repeated) then 'restricted' else 'limited' end,
      case when exists (select from repeated) then null
        else now() + $5::double precision * interval '1 ms' end
    where not exists (select from in_force) and not exists (select from known)
    returning ${holdColumns.sql}
  )
  select ${holdColumns.sql}, false as is_made from in_force
  union all select ${holdColumns.sql}, true from made`;

const shownColumns: Columns<AbuseRestrictionRecord> = columns<AbuseRestrictionRecord>({
  ...holdProperties,
  orgId: text("org_id"),
  reason: text("reason"),
  createdAtMs: instantMs("created_at"),
  liftedAtMs: orNull(instantMs("lifted_at")),
  isInEffect: computed(
    "h.lifted_at is null and (h.until_at is null or h.until_at > now()) and o.bought_at is null",
    bool("in_effect"),
  ),
});

const LIST_SQL = `
  select * from (select h.hold_id, ${shownColumns.sqlOf("h")} from usage_hold h join org o using (org_id)) h
  where ($1::text is null or h.org_id = $1) and ($2 or h.in_effect)
  order by h.hold_id desc limit $3`;

const LIFT_SQL = `
  with lifted as (
    update usage_hold set lifted_at = now()
    where org_id = $1 and lifted_at is null and ($2::text is null or family = $2)
    returning *
  )
  select ${shownColumns.sqlOf("h")} from lifted h join org o using (org_id) order by h.hold_id desc`;

export interface UsageFinding {
  readonly orgId: OrgId;
  readonly family: CallFamily;
  /** The unusual figures, as text. Operators and support see it, the customer never does. */
  readonly reason: string;
  /** Milliseconds since the end of the oldest request that the finding counts. */
  readonly ageMs: number;
  /** How long the restriction for a first finding lasts, in milliseconds from now. */
  readonly limitedMs: number;
  /** A finding within this many ms after a `limited` restriction leads to a `restricted` one. */
  readonly repeatMs: number;
}

export interface AbuseRestrictionRecord extends AbuseRestriction {
  readonly orgId: OrgId;
  readonly reason: string;
  readonly createdAtMs: number;
  readonly liftedAtMs: number | null;
  /** True until the restriction ends or is lifted, or the organization buys credit. */
  readonly isInEffect: boolean;
}
