import type { Pool, PoolClient } from "pg";

import {
  assert,
  byGateway,
  type ChangedBy,
  type ChangeLog,
  columns,
  formatUsd,
  instantMs,
  integer,
  type KeyId,
  micro,
  type MicroUsd,
  microUsd,
  type Note,
  opaque,
  type OrgId,
  orNull,
  type Public,
  queryInTime,
  type RecordOf,
  type Row,
  STORE_ANSWER_TIMEOUT_MS,
  text,
} from "../../kernel/index.ts";

export type OptimizeObjective = "lowest_cost" | "fastest" | "best_judged";

type OptimizeState = "running" | "finished" | "stopped" | "over_budget" | "interrupted" | "failed";

export interface OptimizeResult {
  readonly modelId: string;
  /** Calls that have ended, including failed ones. */
  readonly calls: number;
  readonly failed: number;
  /** The debits of this model's calls; the judge's calls are not included. */
  readonly costMicroUsd: MicroUsd;
  /** The cost per answered call, rounded down to the micro-dollar; null if none was answered. */
  readonly costPerCallMicroUsd: MicroUsd | null;
  readonly firstByteP50Ms: number | null;
  /** The share of its judged prompts that the model won, 0 to 1; null if none was judged. */
  readonly winRate: number | null;
  /** 1 is best. Null without any answer, and if `best_judged` has too few decided prompts. */
  readonly rank: number | null;
}

/** Money is stored as a string of digits, since JSON has no exact numbers. */
type StoredResult = Omit<OptimizeResult, "costMicroUsd" | "costPerCallMicroUsd"> & {
  readonly costMicroUsd: string;
  readonly costPerCallMicroUsd: string | null;
};

const searchColumns = columns({
  searchId: text("search_id"),
  orgId: text<OrgId>("org_id"),
  /** The managed key of the search, which is never shown. */
  keyId: text<KeyId>("key_id"),
  name: text("name"),
  objective: text<OptimizeObjective>("objective"),
  judgeModelId: orNull(text("judge_model_id")),
  modelIds: opaque<readonly string[]>("model_ids"),
  /** The number of prompts. Only the process that runs the search has their texts. */
  prompts: integer("prompts"),
  budgetMicroUsd: micro("budget"),
  /** The settled spend of the search's key, including the judge's calls. */
  spentMicroUsd: micro("spent"),
  state: text<OptimizeState>("state"),
  message: orNull(text("message")),
  createdAtMs: instantMs("created_at"),
  endedAtMs: orNull(instantMs("ended_at")),
  callsDone: integer("calls_done"),
  callsPlanned: integer("calls_planned"),
  results: opaque<readonly StoredResult[]>("results"),
});

export type OptimizeSearch = Omit<RecordOf<typeof searchColumns>, "results"> & {
  /** In the order of `modelIds`. */
  readonly results: readonly OptimizeResult[];
};

export interface WantedCalls {
  /** Required for `best_judged`; with another objective the judge only adds the win rate. */
  readonly judgeModelId: string | null;
  /** 2 to 8 different models. */
  readonly modelIds: readonly string[];
  /** 3 to 50 prompts. */
  readonly prompts: readonly string[];
  /** The longest answer in tokens, 1 to 4,096; null means 512. */
  readonly maxTokens: number | null;
}

export interface SearchEstimate {
  readonly calls: number;
  /** In the order of the requested `modelIds`. */
  readonly models: readonly EstimatedModel[];
  readonly judge: EstimatedModel | null;
  /** The most that all calls together can cost; a smaller budget may end the search early. */
  readonly mostMicroUsd: MicroUsd;
  /** The gaps between all calls; answers that take over two gaps add to this time. */
  readonly leastMs: number;
}

export interface EstimatedModel {
  readonly modelId: string;
  readonly mostMicroUsd: MicroUsd;
  /** Why the model's calls would be refused now; null if they would be accepted. */
  readonly message: string | null;
}

export interface WantedSearch extends WantedCalls {
  readonly name: string;
  readonly objective: OptimizeObjective;
  /** Above 0; it becomes the cap of the search's key. */
  readonly budgetMicroUsd: MicroUsd;
}

export interface OptimizeRefusal {
  readonly kind: "refused";
  /** `invalid_request`: 400; `conflict`: 409, too many searches are running; `unavailable`: 503. */
  readonly code: "invalid_request" | "conflict" | "unavailable";
  readonly field?: "models" | "judge_model" | "budget_usd";
  readonly message: string;
}

const LISTED_MAX = 200;

/** Stores searches and results, but no prompts or answers. A search is committed with its key. */
export class PostgresOptimizeStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Lists an organization's searches, newest first; all of them if `max` is null. */
  async list(orgId: OrgId, max: number | null = LISTED_MAX): Promise<readonly OptimizeSearch[]> {
    const rest = "where s.org_id = $1 order by s.created_at desc, s.search_id limit $2";
    return await this.#select(rest, [orgId, max]);
  }

  async find(orgId: OrgId, searchId: string): Promise<OptimizeSearch | undefined> {
    return (await this.#select("where s.org_id = $1 and s.search_id = $2", [orgId, searchId]))[0];
  }

  /** Creates nothing if `runningMax` searches of the organization are running (`too_many`). */
  async begin(
    search: NewSearch,
    runningMax: number,
    by: ChangedBy,
  ): Promise<OptimizeSearch | "too_many"> {
    const isBegun = await this.#changes.write(by, async (client, note) => {
      // The row lock makes a concurrent `begin` wait until it can count this search.
      await client.query("select from org where org_id = $1 for no key update", [search.orgId]);
      const { orgId, searchId, key, name, modelIds, budgetMicroUsd } = search;
      const made = await client.query(BEGIN_SQL, [
        orgId,
        key.keyId,
        key.digest,
        key.label,
        name,
        key.requestsPerMinute,
        budgetMicroUsd,
        searchId,
        search.objective,
        search.judgeModelId,
        modelIds,
        search.prompts,
        budgetMicroUsd,
        search.callsPlanned,
        search.leaseMs,
        runningMax,
      ]);
      if (made.rowCount !== 1) return false;
      const after = { name, models: modelIds, budget_usd: formatUsd(budgetMicroUsd) };
      note({ action: "optimize.start", orgId, target: searchId, before: null, after });
      return true;
    });
    if (!isBegun) return "too_many";
    const begun = await this.find(search.orgId, search.searchId);
    assert(begun !== undefined, "a search that has begun is found");
    return begun;
  }

  /** Stores progress and renews the lease; false if the search has ended, so its run must stop. */
  async keep(searchId: string, progress: SearchProgress, leaseMs: number): Promise<boolean> {
    const values = [searchId, progress.callsDone, resultsJson(progress.results), leaseMs];
    const result = await queryInTime(this.#pool, { text: KEEP_SQL, values });
    return result.rowCount === 1;
  }

  /** False, with nothing changed, if the search had ended before. */
  async end(searchId: string, end: SearchEnd, by: ChangedBy): Promise<boolean> {
    const { state, message, callsDone, results } = end;
    const values = [searchId, state, message, callsDone, resultsJson(results)];
    return (await this.#end(by, END_SQL, values)) === 1;
  }

  async stop(orgId: OrgId, searchId: string, by: ChangedBy): Promise<OptimizeSearch | undefined> {
    await this.#end(by, STOP_SQL, [orgId, searchId]);
    return await this.find(orgId, searchId);
  }

  /** Ends searches whose lease has expired as `interrupted`; returns how many. */
  async interruptDead(message: string): Promise<number> {
    return await this.#end(byGateway("optimize"), INTERRUPT_SQL, [message]);
  }

  async #select(rest: string, values: unknown[]): Promise<readonly OptimizeSearch[]> {
    const query = { text: `${SELECT_SQL} ${rest}`, values };
    return (await queryInTime<Row>(this.#pool, query)).rows.map(readSearchRow);
  }

  async #end(by: ChangedBy, sql: string, values: unknown[]): Promise<number> {
    const end = async (client: PoolClient, note: Note): Promise<number> => {
      const { rows } = await queryInTime<EndedRow>(client, { text: sql, values });
      for (const { org_id: orgId, search_id: target, state } of rows) {
        const [before, after] = [{ state: "running" }, { state }];
        note({ action: "optimize.end", orgId, target, before, after });
      }
      return rows.length;
    };
    return await this.#changes.write(by, end, STORE_ANSWER_TIMEOUT_MS);
  }
}

export type OptimizeStore = Public<PostgresOptimizeStore>;

interface EndedRow {
  readonly org_id: OrgId;
  readonly search_id: string;
  readonly state: string;
}

/* Sums the spend of all months, because a search may span two. */
const SELECT_SQL = `
  select s.*, coalesce((select sum(p.settled) from spend p where p.scope = 'key'
    and p.id = s.key_id), 0)::bigint as spent
  from optimize_search s`;

/* $16: how many searches of the organization may run at once. */
const BEGIN_SQL = `
  with allowed as (
    select o.org_id from org o where o.org_id = $1
      and (select count(*) from optimize_search s
        where s.org_id = $1 and s.state = 'running' and s.lease_until > now()) < $16::integer
  ), made_key as (
    insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling, cap_micro_usd)
    select $2, org_id, $3, $4, $5, 'optimize', $6, $7 from allowed returning key_id
  )
  insert into optimize_search (search_id, org_id, key_id, name, objective, judge_model_id,
    model_ids, prompts, budget, calls_planned, lease_until)
  select $8, $1, key_id, $5, $9, $10, $11, $12, $13, $14,
    now() + $15::double precision * interval '1 ms' from made_key`;

const KEEP_SQL = `
  update optimize_search set calls_done = $2, results = $3,
    lease_until = now() + $4::double precision * interval '1 ms'
  where search_id = $1 and state = 'running'`;

/** Disables the keys of the `ended` searches, and returns a row for each search. */
const DISABLE_SQL = `
  update api_key k set disabled_at = coalesce(k.disabled_at, now())
  from ended where k.key_id = ended.key_id
  returning ended.org_id, ended.search_id, ended.state`;

const END_SQL = `
  with ended as (
    update optimize_search set state = $2, message = $3, calls_done = $4, results = $5,
      ended_at = now()
    where search_id = $1 and state = 'running' returning key_id, org_id, search_id, state
  ) ${DISABLE_SQL}`;

const STOP_SQL = `
  with ended as (
    update optimize_search set state = 'stopped', ended_at = now()
    where org_id = $1 and search_id = $2 and state = 'running'
    returning key_id, org_id, search_id, state
  ) ${DISABLE_SQL}`;

const INTERRUPT_SQL = `
  with ended as (
    update optimize_search set state = 'interrupted', message = $1, ended_at = now()
    where state = 'running' and lease_until <= now()
    returning key_id, org_id, search_id, state
  ) ${DISABLE_SQL}`;

function resultsJson(results: readonly OptimizeResult[]): string {
  return JSON.stringify(
    results.map((each): StoredResult => ({
      ...each,
      costMicroUsd: each.costMicroUsd.toString(),
      costPerCallMicroUsd: each.costPerCallMicroUsd?.toString() ?? null,
    })),
  );
}

function readSearchRow(row: object): OptimizeSearch {
  const stored = searchColumns.read(row);
  return {
    ...stored,
    results: stored.results.map((each): OptimizeResult => ({
      ...each,
      costMicroUsd: microUsd(BigInt(each.costMicroUsd)),
      costPerCallMicroUsd:
        each.costPerCallMicroUsd === null ? null : microUsd(BigInt(each.costPerCallMicroUsd)),
    })),
  };
}

export interface NewSearch extends Omit<WantedSearch, "prompts" | "maxTokens"> {
  readonly searchId: string;
  readonly orgId: OrgId;
  readonly prompts: number;
  readonly callsPlanned: number;
  readonly key: {
    readonly keyId: KeyId;
    readonly digest: Buffer;
    readonly label: string;
    readonly requestsPerMinute: number;
  };
  /** A process that has not renewed its lease for this long counts as dead. */
  readonly leaseMs: number;
}

type SearchProgress = Pick<OptimizeSearch, "callsDone" | "results">;

export interface SearchEnd extends SearchProgress {
  readonly state: Exclude<OptimizeState, "running">;
  readonly message: string | null;
}
