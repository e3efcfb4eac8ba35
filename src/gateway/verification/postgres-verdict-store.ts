import {
  type Public,
  byGateway,
  type ChangedBy,
  type ChangeLog,
  instantMs,
  columns,
  readRows,
  type RecordOf,
  type Row,
  systemClock,
  text,
  opaque,
} from "../../kernel/index.ts";
import type { Pool } from "pg";

import type { ListingName, LiveBreaches } from "./conduct.ts";

export interface RecordedCheck {
  readonly id: string;
  readonly status: "pass" | "warn" | "fail" | "skip" | "error";
  readonly title: string;
  readonly message: string;
  readonly ms: number;
  /** Measured values that support the status; small, without keys or prompts. */
  readonly evidence?: unknown;
}

export const LISTING = {
  providerId: text<string>("provider_id"),
  modelId: text<string>("model_id"),
} as const;

/** The result of one conformance run for one listing. */
const verdictColumns = columns({
  ...LISTING,
  upstreamModelId: text<string>("upstream_id"),
  manifestSha256: text<string>("manifest_sha256"),
  verdict: text<"pass" | "warn" | "fail" | "inconclusive">("verdict"),
  checkedAtMs: instantMs("checked_at"),
  /** A run on this installation, a signed report that was imported, or a scheduled run. */
  source: text<"run" | "import" | "watch">("source"),
  checks: opaque<readonly RecordedCheck[]>("checks"),
});
export type ListingVerdict = RecordOf<typeof verdictColumns>;

const suspectColumns = columns({
  ...LISTING,
  sinceMs: instantMs("since"),
  breaches: opaque<LiveBreaches>("breaches"),
});
export type SuspectListing = RecordOf<typeof suspectColumns>;

const LISTINGS_MAX = 20_000;
const HISTORY_MAX = 20;

export class PostgresVerdictStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;
  #read: { readonly version: string; readonly verdicts: readonly ListingVerdict[] } | undefined;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /**
   * Records all of these verdicts, or none; skips those that are recorded already. If a run passed,
   * or only warned, its listing is no longer suspect, unless it became so after the run began.
   */
  async record(verdicts: readonly ListingVerdict[], by: ChangedBy): Promise<void> {
    if (verdicts.length === 0) return;
    const values = [
      verdicts.map(({ providerId }) => providerId),
      verdicts.map(({ modelId }) => modelId),
      verdicts.map(({ upstreamModelId }) => upstreamModelId),
      verdicts.map(({ manifestSha256 }) => manifestSha256),
      verdicts.map(({ verdict }) => verdict),
      verdicts.map(({ checkedAtMs }) => new Date(checkedAtMs)),
      verdicts.map(({ source }) => source),
      verdicts.map(({ checks }) => JSON.stringify(checks)),
    ];
    await this.#changes.write(by, async (client, note) => {
      await client.query(RECORD_SQL, [...values, new Date(systemClock.nowMs())]);
      for (const { verdict, source, checkedAtMs, manifestSha256, ...listing } of verdicts) {
        const checked_at = new Date(checkedAtMs).toISOString();
        const after = { verdict, source, checked_at, manifest_sha256: manifestSha256 };
        const target = toTarget(listing);
        note({ action: "verdict.record", orgId: null, target, before: null, after });
      }
    });
  }

  /** Returns each listing's newest conclusive verdict, or an inconclusive one if there is none. */
  async latest(): Promise<readonly ListingVerdict[]> {
    // The version is read first, so that the next call reads verdicts that are recorded meanwhile.
    const { rows: versions } = await this.#pool.query<Row>(VERSION_SQL);
    const version = String(versions[0]?.["version"]);
    if (this.#read?.version === version) return this.#read.verdicts;
    const verdicts = await readRows(this.#pool, verdictColumns, LATEST_SQL, [LISTINGS_MAX]);
    this.#read = { version, verdicts };
    return verdicts;
  }

  /** Returns the verdicts of one listing, newest first, at most `HISTORY_MAX`. */
  async history({ providerId, modelId }: ListingName): Promise<readonly ListingVerdict[]> {
    const values = [providerId, modelId, HISTORY_MAX];
    return await readRows(this.#pool, verdictColumns, HISTORY_SQL, values);
  }

  async suspects(): Promise<readonly SuspectListing[]> {
    return await readRows(this.#pool, suspectColumns, SUSPECTS_SQL, [LISTINGS_MAX]);
  }

  /** Records that live answers make a listing suspect; does nothing if it is suspect already. */
  async suspect({ providerId, modelId }: ListingName, breaches: LiveBreaches): Promise<void> {
    const values = [providerId, modelId, JSON.stringify(breaches)];
    await this.#changes.write(LIVE_CHECKS, async (client, note) => {
      const { rowCount } = await client.query(SUSPECT_SQL, values);
      if (rowCount !== 1) return;
      const after = { ...breaches };
      const target = toTarget({ providerId, modelId });
      note({ action: "listing.suspect", orgId: null, target, before: null, after });
    });
  }
}

export type VerdictStore = Public<PostgresVerdictStore>;

const LIVE_CHECKS = byGateway("live checks");

function toTarget({ providerId, modelId }: ListingName): string {
  return `${providerId} ${modelId}`;
}

const VERSION_SQL = "select version from verdict_version";

const RECORD_SQL = `select record_verdicts($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** Inconclusive verdicts sort last, so that they do not replace an earlier conclusive one. */
const LATEST_SQL = `
  select distinct on (provider_id, model_id) ${verdictColumns.sql}
  from listing_verdict
  order by provider_id, model_id, verdict = 'inconclusive', checked_at desc, verdict_id desc
  limit $1`;

const HISTORY_SQL = `
  select ${verdictColumns.sql} from listing_verdict
  where provider_id = $1 and model_id = $2
  order by checked_at desc, verdict_id desc
  limit $3`;

const SUSPECTS_SQL = `select ${suspectColumns.sql} from suspect_listing limit $1`;

const SUSPECT_SQL = `
  insert into suspect_listing (provider_id, model_id, breaches) values ($1, $2, $3)
  on conflict do nothing`;
