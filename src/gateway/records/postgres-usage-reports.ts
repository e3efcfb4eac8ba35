import type { PoolClient } from "pg";

import {
  assert,
  type KeyId,
  type MicroUsd,
  type OrgId,
  REPORT_FILE_PAGE_ROWS,
  REPORT_FINE_HOURS_MAX,
  REPORT_GROUPS_MAX,
  REPORT_HOURS_MAX,
  type RequestId,
  ZERO_MICRO_USD,
  type Row,
} from "../../kernel/index.ts";
import { refusedColumns } from "./record-rows.ts";
import { findRolledDays } from "./report-parts.ts";
import { readRequests } from "./request-pages.ts";
import type { AsOfListener, ReportSources } from "./report-sources.ts";
import * as activity from "./usage-report-activity.ts";
import * as requests from "./usage-report-requests.ts";
import { usageReport, type ReportRow } from "./usage-report-rows.ts";
import { sizedTokens, sizesQuery, type SizeRow } from "./usage-report-sizes.ts";
import {
  DAY_MS,
  FIVE_MINUTES_MS,
  HOUR_MS,
  isoDay,
  reportQuery,
  type ReportPlan,
} from "./usage-report-sql.ts";
import * as wallet from "./usage-report-wallet.ts";
import type {
  KeyActivity,
  ProviderActivity,
  Substitution,
  ReportedRequest,
  RequestPage,
  RequestPageQuery,
  ReportFilter,
  ReportGroupBy,
  ReportRank,
  SizeBounds,
  SizeFilter,
  SizedTokens,
  UsageReport,
  UsageReports,
} from "./usage-reports.ts";

/**
 * Reports from PostgreSQL, on connections of their own. Days that are over are read from sums where
 * there are any; what they say is what the journal says.
 */
export class PostgresUsageReports implements UsageReports {
  readonly #sources: ReportSources;
  readonly #onServed: AsOfListener | undefined;

  constructor(sources: ReportSources, onServed?: AsOfListener) {
    this.#sources = sources;
    this.#onServed = onServed;
  }

  noting(onServed: AsOfListener): UsageReports {
    return new PostgresUsageReports(this.#sources, onServed);
  }

  async report(
    filter: ReportFilter,
    by: ReportGroupBy,
    rank: ReportRank = "spend",
  ): Promise<UsageReport> {
    const { plan, rows } = await this.#run(async (client) => {
      const planned = await planReport(client, filter, { by, rank });
      const { text, values } = reportQuery(planned);
      return { plan: planned, rows: (await client.query<ReportRow>(text, values)).rows };
    });
    return usageReport(plan, rows);
  }

  async tokensBySize(
    filter: SizeFilter,
    bounds: SizeBounds,
  ): Promise<readonly SizedTokens[] | undefined> {
    const { text, values } = sizesQuery(filter, bounds);
    return sizedTokens(await this.#rows<SizeRow>(text, values));
  }

  async requests(filter: ReportFilter, page: RequestPageQuery): Promise<RequestPage> {
    return await this.#run((client) => readRequests(client, filter, page));
  }

  async *everyRequest(filter: ReportFilter): AsyncGenerator<readonly ReportedRequest[]> {
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const limit = REPORT_FILE_PAGE_ROWS;
      const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
      const { rows, nextCursor }: RequestPage = await this.requests(filter, page);
      yield rows;
      cursor = nextCursor;
    }
  }

  async request(orgId: OrgId, requestId: RequestId): ReturnType<UsageReports["request"]> {
    return await this.#sources.runNow(async (client) => {
      const { text, values } = requests.oneRequestQuery(orgId, requestId);
      const { rows } = await client.query<Row>(text, values);
      if (rows[0] === undefined) return undefined;
      const request = requests.reportedRequest(rows[0]);
      if (request.attempts === 0) {
        const [refused] = (await client.query<Row>(requests.REFUSED_SQL, values)).rows;
        return { request, attempts: [], ...(refused && { refused: refusedColumns.read(refused) }) };
      }
      const attempts = await client.query<Row>(requests.PRICED_ATTEMPTS_SQL, values);
      return { request, attempts: attempts.rows.map(requests.pricedAttempt) };
    });
  }

  async keyActivity(orgId: OrgId): Promise<readonly KeyActivity[]> {
    const rows = await this.#sources.runNow(async (client) => {
      const rolledDays = await findRolledDays(client, orgId);
      const sql = activity.keyActivitySql(rolledDays);
      return (await client.query<activity.KeyActivityRow>(sql, [orgId, rolledDays])).rows;
    });
    return rows.map(activity.keyActivity);
  }

  async keyDays(
    orgId: OrgId,
    keyId: KeyId,
    days: number,
  ): Promise<
    readonly { readonly day: string; readonly requests: number; readonly debitMicroUsd: MicroUsd }[]
  > {
    assert(days > 0 && days <= REPORT_GROUPS_MAX, "a key's days are a page of a report");
    const [now] = await this.#rows<{ today: string }>(TODAY_SQL, []);
    const endMs = Date.parse(`${now?.today ?? ""}T00:00:00Z`) + DAY_MS;
    const filter = { orgId, keyIds: [keyId], fromMs: endMs - days * DAY_MS, toMs: endMs };
    const { groups } = await this.report(filter, "day");
    const known = new Map(groups.map(({ group, figures }) => [group, figures]));
    return Array.from({ length: days }, (_, at) => {
      const day = isoDay(filter.fromMs + at * DAY_MS);
      const { requests: count = 0, debitMicroUsd = ZERO_MICRO_USD } = known.get(day) ?? {};
      return { day, requests: count, debitMicroUsd };
    });
  }

  async firstSuccess(orgId: OrgId): Promise<RequestId | undefined> {
    const sql = activity.FIRST_SUCCESS_SQL;
    const { rows } = await this.#sources.runNow((client) =>
      client.query<{ request_id: RequestId }>(sql, [orgId]),
    );
    return rows[0]?.request_id;
  }

  async providerActivity(): Promise<readonly ProviderActivity[]> {
    const sql = activity.PROVIDER_ACTIVITY_SQL;
    const rows = await this.#rows<activity.ProviderActivityRow>(sql, []);
    return rows.map(activity.providerActivity);
  }

  async substitutions(): Promise<readonly Substitution[]> {
    const rows = await this.#rows<activity.SubstitutionRow>(activity.SUBSTITUTIONS_SQL, []);
    return rows.map(activity.substitution);
  }

  async walletLines(
    orgId: OrgId,
    page: { readonly limit: number; readonly cursor?: string },
  ): ReturnType<UsageReports["walletLines"]> {
    const cursor = wallet.readWalletCursor(page.cursor ?? "");
    const found = await this.#sources.runNow(async (client) => {
      const rolledDays = await findRolledDays(client, orgId);
      const { text, values } = wallet.walletQuery(
        { orgId, rolledDays },
        { rows: page.limit + 1, ...(cursor === undefined ? {} : { cursor }) },
      );
      return (await client.query<wallet.WalletRow>(text, values)).rows;
    });
    const rows = found.slice(0, page.limit);
    const last = rows.at(-1);
    const hasMore = found.length > page.limit && last !== undefined;
    return {
      lines: rows.map(wallet.walletLine),
      nextCursor: hasMore ? wallet.writeWalletCursor(last) : null,
    };
  }

  async #rows<R extends object>(text: string, values: unknown[]): Promise<readonly R[]> {
    return await this.#run(async (client) => (await client.query<R>(text, values)).rows);
  }

  #run<T>(query: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#sources.run(query, this.#onServed);
  }
}

const TODAY_SQL = "select to_char(now() at time zone 'utc', 'YYYY-MM-DD') as today";

async function planReport(
  client: PoolClient,
  filter: ReportFilter,
  groups: Pick<ReportPlan, "by" | "rank">,
): Promise<ReportPlan> {
  const { orgId, fromMs, toMs } = filter;
  const wholeFromMs = Math.ceil(fromMs / DAY_MS) * DAY_MS;
  const wholeToMs = Math.floor(toMs / DAY_MS) * DAY_MS;
  const whole = { filter, ...groups, wholeFromMs, wholeToMs };
  if (toMs - fromMs <= REPORT_HOURS_MAX * HOUR_MS) {
    const isFine = toMs - fromMs <= REPORT_FINE_HOURS_MAX * HOUR_MS;
    const bucketMs = isFine ? FIVE_MINUTES_MS : HOUR_MS;
    return { ...whole, bucketMs, rolledDays: [] };
  }
  return { ...whole, bucketMs: DAY_MS, rolledDays: await findRolledDays(client, orgId) };
}
