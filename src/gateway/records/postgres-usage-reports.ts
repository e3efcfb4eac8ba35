import type { PoolClient } from "pg";

import {
  assert,
  type KeyId,
  type OrgId,
  queryOne,
  readRows,
  REPORT_FILE_PAGE_ROWS,
  REPORT_GROUPS_MAX,
  type RequestId,
  type Row,
  ZERO_MICRO_USD,
  type Public,
} from "../../kernel/index.ts";
import { heldColumns, readCreatedAt } from "../../ledger/index.ts";
import * as activity from "./activity.ts";
import { readRecorded } from "./record-rows.ts";
import { DAY_MS, findRolledDays, isoDay, type ReportQuery } from "./report-parts.ts";
import type { AsOfListener, ReportSources } from "./report-sources.ts";
import {
  readRequestPage,
  type ReportedRequest,
  type RequestPage,
  type RequestPageQuery,
} from "./request-pages.ts";
import type { ReportFilter } from "./request-rows.ts";
import { type SizeBounds, sizedTokens, type SizeFilter, sizesQuery } from "./tokens-by-size.ts";
import {
  readReportRows,
  type ReportGroupBy,
  type ReportRank,
  usageReport,
} from "./report-query.ts";
import { readWalletRows, walletPage } from "./wallet-lines.ts";

/**
 * The console's reports on the journal. They have their own connections with a statement time
 * limit, so that calls need not wait for them; a report that takes too long rejects with
 * `ReportTimeout`. A wallet's lines cover the wallet's whole life. Past days are read from daily
 * sums if there are any, with the same results.
 */
export class PostgresUsageReports {
  readonly #sources: ReportSources;
  readonly #onServed: AsOfListener | undefined;

  constructor(sources: ReportSources, onServed?: AsOfListener) {
    this.#sources = sources;
    this.#onServed = onServed;
  }

  /**
   * Returns reports for one answer. `onServed` is called if a replica served a part of it. Wallets,
   * single requests, first successes and key activity are never read from a replica.
   */
  noting(onServed: AsOfListener): UsageReports {
    return new PostgresUsageReports(this.#sources, onServed);
  }

  async report(filter: ReportFilter, by: ReportGroupBy, rank: ReportRank = "spend") {
    const read = await this.#run((client) => readReportRows(client, filter, { by, rank }));
    return usageReport(read.plan, read.rows);
  }

  /** Undefined if there are too many attempts to read one by one. */
  async tokensBySize(filter: SizeFilter, bounds: SizeBounds) {
    const query = sizesQuery(filter, bounds);
    return sizedTokens((await this.#run((client) => client.query<Row>(query))).rows);
  }

  async requests(filter: ReportFilter, page: RequestPageQuery): Promise<RequestPage> {
    const run = (query: ReportQuery) =>
      this.#run(async (client) => {
        // Turns sorting off: the planner overestimates how many requests match a status, and would
        // read and sort all of them.
        if ((page.sort?.by ?? "time") === "time") await client.query("set local enable_sort = off");
        return await client.query<Row>(query);
      });
    return await readRequestPage(run, filter, page);
  }

  /** Streams all requests, newest first. Only one page is in memory at a time. */
  async *everyRequest(filter: ReportFilter): AsyncGenerator<readonly ReportedRequest[]> {
    const limit = REPORT_FILE_PAGE_ROWS;
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: RequestPage = await this.requests(filter, { limit, cursor });
      yield page.rows;
      cursor = page.nextCursor;
    }
  }

  async request(orgId: OrgId, requestId: RequestId) {
    return await this.#sources.runNow(async (client) => {
      const atMs = readCreatedAt(requestId);
      const { rows } = await readRequestPage(
        (query) => client.query<Row>(query),
        { orgId, fromMs: atMs, toMs: atMs + 1 },
        { limit: REQUESTS_PER_MS_MAX },
      );
      const request = rows.find((each) => each.requestId === requestId);
      const values = [orgId, requestId];
      const query = async (text: string) => (await client.query<Row>(text, values)).rows;
      const found = await readRecorded(query);
      if (request === undefined || found === undefined) return undefined;
      const { row: _row, ...recorded } = found;
      return { request, ...recorded };
    });
  }

  async keyActivity(orgId: OrgId) {
    return await this.#sources.runNow(async (client) => {
      const rolledDays = await findRolledDays(client, orgId);
      const sql = activity.keyActivitySql(rolledDays);
      return await readRows(client, activity.keyActivityColumns, sql, [orgId, rolledDays]);
    });
  }

  /** Returns the last `days` UTC days of one key, oldest first, including days without requests. */
  async keyDays(orgId: OrgId, keyId: KeyId, days: number) {
    assert(days > 0 && days <= REPORT_GROUPS_MAX, "a key's days are a page of a report");
    const { today } = await this.#run((client) => queryOne<{ today: string }>(client, TODAY_SQL));
    const endMs = Date.parse(`${today}T00:00:00Z`) + DAY_MS;
    const filter = { orgId, keyIds: [keyId], fromMs: endMs - days * DAY_MS, toMs: endMs };
    const { groups } = await this.report(filter, "day");
    const known = new Map(groups.map(({ group, figures }) => [group, figures]));
    return Array.from({ length: days }, (_, at) => {
      const day = isoDay(filter.fromMs + at * DAY_MS);
      const { requests = 0, debitMicroUsd = ZERO_MICRO_USD } = known.get(day) ?? {};
      return { day, requests, debitMicroUsd };
    });
  }

  /** Returns a successful request: the first one if there are few. Undefined if none is found. */
  async firstSuccess(orgId: OrgId): Promise<RequestId | undefined> {
    return await this.#sources.runNow(async (client) => {
      const { rows } = await client.query<Row>(activity.FIRST_SUCCESS_SQL, [orgId]);
      return rows[0] && heldColumns.requestId.read(rows[0]);
    });
  }

  /** Reads at most 200,000 attempts of all customers: the newest of the last 24 hours. */
  async providerActivity(): Promise<readonly activity.ProviderActivity[]> {
    return await this.#run((client) =>
      readRows(client, activity.providerActivityColumns, activity.PROVIDER_ACTIVITY_SQL),
    );
  }

  /** Reads the same attempts as `providerActivity`. Listings without substitutions are left out. */
  async substitutions(): Promise<readonly activity.Substitution[]> {
    return await this.#run((client) =>
      readRows(client, activity.substitutionColumns, activity.SUBSTITUTIONS_SQL),
    );
  }

  async walletLines(orgId: OrgId, page: Parameters<typeof readWalletRows>[2]) {
    const rows = await this.#sources.runNow((client) => readWalletRows(client, orgId, page));
    return walletPage(rows, page.limit);
  }

  #run<T>(query: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#sources.run(query, this.#onServed);
  }
}

export type UsageReports = Public<PostgresUsageReports>;

/** More requests than an organization can send in one millisecond. */
const REQUESTS_PER_MS_MAX = 1_000;

const TODAY_SQL = "select to_char(now() at time zone 'utc', 'YYYY-MM-DD') as today";
