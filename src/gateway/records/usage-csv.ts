import type { ClientExchange } from "../call/client-exchange.ts";
import {
  type Clock,
  csvLine,
  formatUsd,
  instant,
  invalidRequest,
  type MicroUsd,
  type OrgId,
  plainCell,
  refusal,
  TOKEN_BUCKET_NAMES,
  TOKEN_BUCKETS,
  type Usage,
  USAGE_FILE_GROUPS_MAX,
  USAGE_FILE_PAGE_ROWS,
  USAGE_FILE_TIMEOUT_MS,
  USAGE_FILES_PER_ORG_MAX,
} from "../../kernel/index.ts";
import type { Grouping } from "./contract/usage.ts";
import type { RecordStore, UsageGroup, UsageQuery, UsageRow } from "./record-store.ts";
import type { ReadUsageQuery } from "./usage-query.ts";

const CONTENT_TYPE = "text/csv; charset=utf-8";
const RETRY_AFTER_SECONDS = 10;

/** Usage as a file for a spreadsheet: read and sent page by page, as fast as the client takes it. */
export class UsageCsv {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  /** Files under way; a client that opens many of them may not keep the database to itself. */
  readonly #underWay = new Map<OrgId, number>();

  constructor(records: RecordStore, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Sends every row, or at most `limit`; a file that cannot be finished ends in a reset. */
  async serve(exchange: ClientExchange, asked: ReadUsageQuery): Promise<void> {
    const { orgId } = exchange.principal;
    const underWay = this.#underWay.get(orgId) ?? 0;
    if (underWay >= USAGE_FILES_PER_ORG_MAX) return exchange.refuse(tooManyFiles());
    this.#underWay.set(orgId, underWay + 1);
    try {
      if (asked.groupBy === undefined) await this.#sendRows(exchange, asked);
      else await this.#sendGroups(exchange, asked, asked.groupBy);
    } finally {
      const left = (this.#underWay.get(orgId) ?? 1) - 1;
      if (left > 0) this.#underWay.set(orgId, left);
      else this.#underWay.delete(orgId);
    }
  }

  async #sendRows(exchange: ClientExchange, asked: ReadUsageQuery): Promise<void> {
    const endMs = this.#clock.monotonicMs() + USAGE_FILE_TIMEOUT_MS;
    const { orgId } = exchange.principal;
    let rowsLeft = asked.limit ?? Number.POSITIVE_INFINITY;
    let query: UsageQuery = {
      orgId,
      ...asked.range,
      limit: Math.min(rowsLeft, USAGE_FILE_PAGE_ROWS),
    };
    // The first page comes before the first byte: until then a fault is an ordinary refusal.
    let page = await this.#records.usagePage(query);
    exchange.begin(CONTENT_TYPE, { fileName: fileName(asked) });
    const pace = new ClientPace(exchange);
    let text = lineOf(ROW_COLUMNS);
    try {
      for (;;) {
        text += page.rows.map(rowLine).join("");
        rowsLeft -= page.rows.length;
        if (page.nextCursor === null || rowsLeft <= 0) return exchange.end(text);
        await pace.write(text);
        if (exchange.gone) return;
        if (this.#clock.monotonicMs() > endMs) return exchange.cut();
        const limit = Math.min(rowsLeft, USAGE_FILE_PAGE_ROWS);
        query = { ...query, limit, cursor: page.nextCursor };
        page = await this.#records.usagePage(query);
        text = "";
      }
    } catch (fault) {
      exchange.cut();
      throw fault;
    }
  }

  async #sendGroups(exchange: ClientExchange, asked: ReadUsageQuery, by: Grouping): Promise<void> {
    const { orgId } = exchange.principal;
    const limit = asked.limit ?? USAGE_FILE_GROUPS_MAX + 1;
    const groups = await this.#records.usageGroups({ orgId, ...asked.range, limit }, by);
    if (groups.length > USAGE_FILE_GROUPS_MAX) {
      const problem = `group_by gives more than ${USAGE_FILE_GROUPS_MAX} groups; ask for a shorter time range`;
      return exchange.refuse(invalidRequest(problem));
    }
    const text = lineOf([GROUP_COLUMN[by], ...SUM_COLUMNS]) + groups.map(groupLine).join("");
    exchange.answer(CONTENT_TYPE, { fileName: fileName(asked) }, text);
  }
}

const TOKEN_COLUMNS: readonly string[] = Object.values(TOKEN_BUCKETS);
const COST_COLUMNS = ["cost_usd", "cost_micro_usd"];
const ROW_COLUMNS = ["request_id", "created", "key_id", "model", "provider", "route"].concat(
  TOKEN_COLUMNS,
  COST_COLUMNS,
  "settlement",
);
const SUM_COLUMNS = ["requests", ...TOKEN_COLUMNS, ...COST_COLUMNS];
const GROUP_COLUMN: Readonly<Record<Grouping, string>> = {
  day: "day",
  model: "model",
  key: "key_id",
  provider: "provider",
};

function rowLine(row: UsageRow): string {
  return lineOf([
    row.requestId,
    instant(row.createdAtMs),
    plainCell(row.keyId),
    plainCell(row.modelId),
    plainCell(row.providerId),
    plainCell(row.route),
    ...tokenFields(row.usage),
    ...costFields(row.debitMicroUsd),
    row.basis,
  ]);
}

function groupLine(group: UsageGroup): string {
  return lineOf([
    plainCell(group.group),
    String(group.requests),
    ...tokenFields(group.usage),
    ...costFields(group.debitMicroUsd),
  ]);
}

function tokenFields(usage: Usage | null): readonly (string | null)[] {
  return TOKEN_BUCKET_NAMES.map((bucket) => (usage === null ? null : String(usage[bucket])));
}

function costFields(debitMicroUsd: MicroUsd): readonly string[] {
  return [formatUsd(debitMicroUsd), debitMicroUsd.toString()];
}

function lineOf(fields: readonly (string | null)[]): string {
  return `${csvLine(fields)}\r\n`;
}

/** `usage.csv`, `usage-by-day-from-2026-04-01-to-2026-05-01.csv`. */
function fileName({ groupBy, range }: ReadUsageQuery): string {
  const parts = ["usage"];
  if (groupBy !== undefined) parts.push(`by-${groupBy}`);
  if (range.fromMs !== undefined) parts.push(`from-${dayOf(range.fromMs)}`);
  if (range.toMs !== undefined) parts.push(`to-${dayOf(range.toMs)}`);
  return `${parts.join("-")}.csv`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function tooManyFiles(): ReturnType<typeof refusal> {
  return refusal(
    "rate_limit",
    `${USAGE_FILES_PER_ORG_MAX} usage files of this organization are already being written; wait until one of them is complete`,
    {
      origin: "gateway_admission",
      limit: { scope: "org", kind: "concurrency" },
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );
}

/** Lets a writer wait until the client has taken what it was given, or is gone. */
class ClientPace {
  readonly #exchange: ClientExchange;
  #goOn: () => void = () => undefined;

  constructor(exchange: ClientExchange) {
    this.#exchange = exchange;
    exchange.onWritable(() => this.#goOn());
    exchange.onGone(() => this.#goOn());
  }

  async write(text: string): Promise<void> {
    if (this.#exchange.write(text)) return;
    await new Promise<void>((goOn) => {
      this.#goOn = goOn;
    });
  }
}
