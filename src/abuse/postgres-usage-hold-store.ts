import type { Pool, QueryConfig } from "pg";
import type { CallFamily, UsageHold } from "../accounts/account-rules.ts";
import type { UsageFinding, UsageHoldRecord, UsageHoldStore } from "./usage-hold-store.ts";
import { storeAnswerTimeoutMs } from "../core/constants.ts";
import type { OrgId } from "../core/ids.ts";

const LISTED_MAX = 1_000;

/** Holds on unusual use in PostgreSQL: what every process finds is decided here, one at a time. */
export class PostgresUsageHoldStore implements UsageHoldStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async record(finding: UsageFinding): Promise<UsageHold | undefined> {
    const client = await this.#pool.connect();
    try {
      await client.query(inTime(beginSql));
      // Of two findings at once the second reads what the first has made: the row is the lock.
      const org = await client.query<{ trial: boolean }>(inTime(lockOrgSql, [finding.orgId]));
      const isTrial = org.rows[0]?.trial === true;
      const held = isTrial
        ? await client.query<StateRow>(inTime(recordSql, valuesOf(finding)))
        : undefined;
      await client.query(inTime("commit"));
      client.release();
      const row = held?.rows[0];
      return row === undefined ? undefined : usageHold(finding.family, row);
    } catch (fault) {
      // Closed, not released: the server then ends what was begun, whatever has become of it.
      client.release(true);
      throw fault;
    }
  }

  async list(filter: {
    readonly orgId?: OrgId;
    readonly isWithPast: boolean;
  }): Promise<readonly UsageHoldRecord[]> {
    const { rows } = await this.#pool.query<HoldRow>(listSql, [
      filter.orgId ?? null,
      filter.isWithPast,
      LISTED_MAX,
    ]);
    return rows.map(holdRecord);
  }

  async lift(orgId: OrgId, family?: CallFamily): Promise<readonly UsageHoldRecord[]> {
    const { rows } = await this.#pool.query<HoldRow>(liftSql, [orgId, family ?? null]);
    return rows.map(holdRecord);
  }
}

/* A connection that stays silent is given up: what is recorded next gets another one. */
function inTime(text: string, values: unknown[] = []): QueryConfig {
  const query: QueryConfig & { readonly query_timeout: number } = {
    text,
    values,
    query_timeout: storeAnswerTimeoutMs,
  };
  return query;
}

/* No caller waits long for its lock. */
const beginSql = `begin;
  set local statement_timeout = ${storeAnswerTimeoutMs};
  set local idle_in_transaction_session_timeout = ${storeAnswerTimeoutMs}`;

const lockOrgSql = `
  select bought_at is null as trial from org where org_id = $1 for no key update`;

function valuesOf(finding: UsageFinding): unknown[] {
  const { orgId, family, reason, ageMs, limitedMs, repeatMs } = finding;
  return [orgId, family, reason, ageMs, limitedMs, repeatMs];
}

const recordSql = `
  with hold as (
    select * from usage_hold where org_id = $1 and family = $2
  ), in_force as (
    select state, until_at from hold
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
    returning state, until_at
  )
  select state, until_at from in_force union all select state, until_at from made`;

const shownColumns = `h.org_id, h.family, h.state, h.reason, h.created_at, h.until_at, h.lifted_at,
  h.lifted_at is null and (h.until_at is null or h.until_at > now()) and o.bought_at is null
    as in_effect`;

const listSql = `
  select * from (select h.hold_id, ${shownColumns} from usage_hold h join org o using (org_id)) h
  where ($1::text is null or h.org_id = $1) and ($2 or h.in_effect)
  order by h.hold_id desc limit $3`;

const liftSql = `
  with lifted as (
    update usage_hold set lifted_at = now()
    where org_id = $1 and lifted_at is null and ($2::text is null or family = $2)
    returning *
  )
  select ${shownColumns} from lifted h join org o using (org_id) order by h.hold_id desc`;

interface StateRow {
  readonly state: "limited" | "restricted";
  readonly until_at: Date | null;
}

interface HoldRow extends StateRow {
  readonly org_id: string;
  readonly family: CallFamily;
  readonly reason: string;
  readonly created_at: Date;
  readonly lifted_at: Date | null;
  readonly in_effect: boolean;
}

function usageHold(family: CallFamily, { state, until_at: untilAt }: StateRow): UsageHold {
  return { family, state, ...(untilAt === null ? {} : { untilMs: untilAt.getTime() }) };
}

function holdRecord(row: HoldRow): UsageHoldRecord {
  return {
    ...usageHold(row.family, row),
    orgId: row.org_id as OrgId,
    reason: row.reason,
    createdAtMs: row.created_at.getTime(),
    liftedAtMs: row.lifted_at?.getTime() ?? null,
    isInEffect: row.in_effect,
  };
}
