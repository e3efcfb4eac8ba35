import type { Pool, PoolClient } from "pg";

import {
  type KeyId,
  LEDGER_BATCH_ROWS_MAX,
  type Logger,
  type OrgId,
  queryInTime,
  REFUSED_MODEL_CHARS_MAX,
  REFUSED_ROWS_PER_MINUTE,
  REFUSED_ROWS_PER_MINUTE_PER_ORG,
} from "../kernel/index.ts";
import type { RefusedCount, RefusedRequest } from "./ledger-store.ts";
import { requestIdFrom } from "./attempt-columns.ts";

export interface RefusedLaneOptions {
  readonly log: Logger;
  readonly send: (
    requests: readonly RefusedRequest[],
    counts: readonly RefusedCount[],
  ) => Promise<void>;
}

interface Counting extends RefusedCount {
  requests: number;
}

const MINUTE_MS = 60_000;
const QUEUE_ROWS_MAX = 20_000;
const COUNTS_MAX = 20_000;
const GATHER_MS = 20;
/** Longer than rows wait (`GATHER_MS`): customers may look up a row at once, but never a count. */
const GATHER_COUNTS_MS = 500;
const RETRY_MS = 1_000;

/**
 * Writes refused requests in the background: the first of each key and minute as rows, the others
 * as counts. If the queue is full, requests are lost, which is acceptable: they move no money.
 */
export class RefusedLane {
  readonly #options: RefusedLaneOptions;
  /** For `#minuteMs`, how many requests of each key, and of each organization, got a row. */
  readonly #listedOfKey = new Map<KeyId, number>();
  readonly #listedOfOrg = new Map<OrgId, number>();
  #minuteMs = 0;
  #queue: RefusedRequest[] = [];
  readonly #counts = new Map<number, Map<KeyId, Counting>>();
  #countsSize = 0;
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #countTimer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: RefusedLaneOptions) {
    this.#options = options;
  }

  submit(request: RefusedRequest): void {
    const minuteMs = Math.floor(request.createdAtMs / MINUTE_MS) * MINUTE_MS;
    if (!this.#isListed(request, minuteMs)) {
      const { orgId, keyId } = request;
      this.#count({ orgId, keyId, minuteMs, requests: 1 });
      this.#countTimer ??= setTimeout(() => this.#start(), GATHER_COUNTS_MS).unref();
      return;
    }
    if (this.#queue.length >= QUEUE_ROWS_MAX) {
      this.#lost += 1;
      return;
    }
    this.#queue.push({ ...request, modelId: storedModel(request.modelId) });
    this.#timer ??= setTimeout(() => this.#start(), GATHER_MS).unref();
  }

  get queuedRows(): number {
    return this.#queue.length + this.#countsSize;
  }

  /** Tries to write the queue once. Resolves even if the store fails. */
  async drained(): Promise<void> {
    this.#start();
    await this.#sending;
  }

  #isListed({ orgId, keyId }: RefusedRequest, minuteMs: number): boolean {
    if (minuteMs !== this.#minuteMs) {
      this.#minuteMs = minuteMs;
      this.#listedOfKey.clear();
      this.#listedOfOrg.clear();
    }
    const byKey = this.#listedOfKey.get(keyId) ?? 0;
    const byOrg = this.#listedOfOrg.get(orgId) ?? 0;
    if (byKey >= REFUSED_ROWS_PER_MINUTE || byOrg >= REFUSED_ROWS_PER_MINUTE_PER_ORG) return false;
    this.#listedOfKey.set(keyId, byKey + 1);
    this.#listedOfOrg.set(orgId, byOrg + 1);
    return true;
  }

  /* Looks up the minute and then the key, because a string of both costs too much in a flood. */
  #count(count: RefusedCount): void {
    const known = this.#counts.get(count.minuteMs)?.get(count.keyId);
    if (known !== undefined) known.requests += count.requests;
    else if (this.#countsSize >= COUNTS_MAX) this.#lost += count.requests;
    else this.#beginCounting(count);
  }

  #beginCounting(count: RefusedCount): void {
    const { minuteMs, keyId } = count;
    const ofMinute = this.#counts.get(minuteMs) ?? new Map<KeyId, Counting>();
    this.#counts.set(minuteMs, ofMinute.set(keyId, { ...count }));
    this.#countsSize += 1;
  }

  #start(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#countTimer);
    this.#timer = undefined;
    this.#countTimer = undefined;
    this.#sending = this.#sending.then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0 || this.#countsSize > 0) {
      const batch = this.#queue.slice(0, LEDGER_BATCH_ROWS_MAX);
      const counts = this.#takeCounts();
      try {
        await this.#options.send(batch, counts);
      } catch (error) {
        for (const count of counts) this.#count(count);
        this.#options.log.warn({ err: error, lost: this.#lost }, "refused requests not recorded");
        this.#timer ??= setTimeout(() => this.#start(), RETRY_MS).unref();
        return;
      }
      this.#queue.splice(0, batch.length);
    }
  }

  #takeCounts(): readonly RefusedCount[] {
    const taken: RefusedCount[] = [];
    for (const [minuteMs, ofMinute] of this.#counts) {
      for (const [keyId, count] of ofMinute) {
        if (taken.length === LEDGER_BATCH_ROWS_MAX) return taken;
        ofMinute.delete(keyId);
        this.#countsSize -= 1;
        taken.push(count);
      }
      this.#counts.delete(minuteMs);
    }
    return taken;
  }
}

/** The name is copied, because a slice of a string keeps the whole string in memory. */
function storedModel(modelId: string | null): string | null {
  if (modelId === null) return null;
  const shown = modelId.replaceAll("\0", "").slice(0, REFUSED_MODEL_CHARS_MAX);
  return Buffer.from(shown).toString();
}

export async function recordRefused(
  pool: Pool,
  requests: readonly RefusedRequest[],
  counts: readonly RefusedCount[],
): Promise<void> {
  const column = <T>(read: (request: RefusedRequest) => T): T[] => requests.map(read);
  const counted = <T>(read: (count: RefusedCount) => T): T[] => counts.map(read);
  const values = [
    column((request) => request.requestId),
    column((request) => request.orgId),
    column((request) => request.keyId),
    column((request) => request.modelId),
    column((request) => request.route),
    column((request) => request.stream),
    column((request) => request.errorClass),
    column((request) => request.createdAtMs),
    counted((count) => count.orgId),
    counted((count) => count.keyId),
    counted((count) => count.minuteMs),
    counted((count) => count.requests),
    REFUSED_ROWS_PER_MINUTE,
    column(({ reason }) => (reason === undefined ? null : JSON.stringify(reason))),
  ];
  await queryInTime(pool, { text: RECORD_REFUSED_SQL, values });
}

/*
 * A refused request has an attempt if its hold was annulled. If that attempt's day was already
 * summed up for reports, the day is marked to be summed up again. The rows of `refused_minute` are
 * locked first, in the order of the primary key, so that all processes share the limit of stored
 * requests, and do not deadlock. A request that an earlier try has written is not counted again.
 */
const RECORD_REFUSED_SQL = `
  with given as (
    select t.*, row_number() over (partition by org, minute, key order by request) as n
    from (
      select *, to_timestamp(floor(created_ms / 60000) * 60) as minute
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[],
        $7::text[], $8::double precision[], $14::jsonb[])
        as r(request, org, key, model, route, stream, class, created_ms, reason)
    ) t
    where not exists (select from refused_request r where r.request_id = t.request)
  ), added as (
    select org, minute, key, sum(recorded)::bigint as recorded, sum(counted)::bigint as counted
    from (
      select org, minute, key, 1 as recorded, 0 as counted from given
      union all
      select org, to_timestamp(minute_ms / 1000), key, 0, requests
      from unnest($9::text[], $10::text[], $11::double precision[], $12::bigint[])
        as c(org, key, minute_ms, requests)
    ) each group by org, minute, key
  ), minute as (
    insert into refused_minute as m (org_id, minute, key_id, recorded, unlisted)
    select org, minute, key, recorded, counted + greatest(0, recorded - $13::bigint)
    from added order by org, minute, key
    on conflict (org_id, minute, key_id) do update set
      recorded = m.recorded + excluded.recorded,
      unlisted = m.unlisted + excluded.unlisted - greatest(0, excluded.recorded - $13::bigint)
        + greatest(0, m.recorded + excluded.recorded - $13::bigint)
        - greatest(0, m.recorded - $13::bigint)
    returning org_id, minute, key_id, recorded
  ), noted as (
    insert into usage_stale (org_id, day)
    select late.org, attempt_day(a.attempt_id)
    from (select * from given g where exists (
      select from usage_day u where u.day >= (g.minute at time zone 'utc')::date)) late
    cross join lateral (
      select attempt_id from attempt where org_id = late.org and request_id = late.request
        and attempt_id >= attempt_id_at(late.minute - interval '2 days')
        and attempt_id < attempt_id_at(late.minute + interval '2 days') offset 0) a
  )
  insert into refused_request (request_id, org_id, key_id, model_id, route, stream, error_class,
    created_at, reason)
  select g.request, g.org, g.key, g.model, g.route, g.stream, g.class,
    to_timestamp(g.created_ms / 1000.0), g.reason
  from given g
  join added a on (a.org, a.minute, a.key) = (g.org, g.minute, g.key)
  join minute m on (m.org_id, m.minute, m.key_id) = (g.org, g.minute, g.key)
  where m.recorded - a.recorded + g.n <= $13::bigint
  on conflict do nothing`;

/** Deletes the refusals before `atMs` in batches. Returns the number of requests. */
export async function deleteRefusedBefore(client: PoolClient, atMs: number): Promise<number> {
  const oldest: readonly [string, unknown][] = [
    [DELETE_REQUESTS_SQL, requestIdFrom(atMs)],
    [DELETE_MINUTES_SQL, new Date(atMs)],
  ];
  let deleted = 0;
  for (const [text, bound] of oldest) {
    for (let hasMore = true; hasMore;) {
      const { rows } = await client.query<{ requests: bigint }>(text, [bound, DELETED_ROWS]);
      for (const { requests } of rows) deleted += Number(requests);
      hasMore = rows.length === DELETED_ROWS;
    }
  }
  return deleted;
}

const DELETED_ROWS = 5_000;

const DELETE_REQUESTS_SQL = `
  delete from refused_request where request_id in (
    select request_id from refused_request where request_id < $1::uuid
    order by request_id limit $2)
  returning 1::bigint as requests`;

const DELETE_MINUTES_SQL = `
  delete from refused_minute where (org_id, minute, key_id) in (
    select org_id, minute, key_id from refused_minute where minute < $1 order by minute limit $2)
  returning unlisted as requests`;
