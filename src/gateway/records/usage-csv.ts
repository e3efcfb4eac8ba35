import type { ClientExchange } from "../call/client-exchange.ts";
import {
  type Clock,
  csvLine,
  formatUsd,
  instant,
  invalidRequest,
  plainCell,
  presentKeyId,
  TOKEN_BUCKET_NAMES,
  TOKEN_BUCKETS,
  USAGE_FILE_GROUPS_MAX,
  USAGE_FILE_PAGE_ROWS,
  USAGE_FILE_TIMEOUT_MS,
  USAGE_FILES_PER_ORG_MAX,
} from "../../kernel/index.ts";
import type { Grouping } from "./contract/usage.ts";
import type { RecordStore } from "./postgres-record-store.ts";
import type { UsageGroup } from "./record-rows.ts";
import type { ReportedRequest, RequestPage } from "./request-pages.ts";
import { isoDay } from "./report-parts.ts";
import type { ReadUsageQuery } from "./read-query.ts";
import { OrgGate } from "./org-gate.ts";

const CONTENT_TYPE = "text/csv; charset=utf-8";

/** Usage as a CSV file: requests page by page, as fast as the client reads, sums as a whole. */
export class UsageCsv {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #files = new OrgGate(
    { running: USAGE_FILES_PER_ORG_MAX, waiting: 0 },
    `${USAGE_FILES_PER_ORG_MAX} usage files of this organization are already being written`,
  );
  readonly #sums: OrgGate;

  constructor(records: RecordStore, clock: Clock, sums: OrgGate) {
    this.#records = records;
    this.#clock = clock;
    this.#sums = sums;
  }

  /** Sends at most `limit` rows. Resets the connection if the file cannot be completed. */
  async serve(exchange: ClientExchange, asked: ReadUsageQuery): Promise<void> {
    const { groupBy } = asked;
    await this.#files.run(exchange, async () => {
      if (groupBy === undefined) return await this.#sendRows(exchange, asked);
      await this.#sums.run(exchange, () => this.#sendGroups(exchange, asked, groupBy));
    });
  }

  async #sendRows(exchange: ClientExchange, asked: ReadUsageQuery): Promise<void> {
    const endMs = this.#clock.monotonicMs() + USAGE_FILE_TIMEOUT_MS;
    const { orgId } = exchange.principal;
    let { limit: rowsLeft = Number.POSITIVE_INFINITY, range } = asked;
    const readPage = (): Promise<RequestPage> => {
      const limit = Math.min(rowsLeft, USAGE_FILE_PAGE_ROWS);
      return this.#records.usagePage({ orgId, ...range, limit });
    };
    // The first page is read before any byte is sent, so that a fault becomes an ordinary refusal.
    let page = await readPage();
    exchange.begin(CONTENT_TYPE, { fileName: fileName(asked) });
    let goOn = (): void => undefined;
    exchange.onWritable(() => goOn());
    exchange.onGone(() => goOn());
    let text = renderHeader(ROW_FIELDS);
    try {
      for (;;) {
        text += renderLines(ROW_FIELDS, page.rows);
        rowsLeft -= page.rows.length;
        if (page.nextCursor === null || rowsLeft <= 0) return exchange.end(text);
        // Waits until the client can take more bytes, or is gone.
        if (!exchange.write(text)) await new Promise<void>((resolve) => (goOn = resolve));
        if (exchange.gone) return;
        if (this.#clock.monotonicMs() > endMs) return exchange.cut();
        range = { ...range, cursor: page.nextCursor };
        page = await readPage();
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
    const text = renderHeader(groupFields(by)) + renderLines(groupFields(by), groups);
    exchange.answer(CONTENT_TYPE, { fileName: fileName(asked) }, text);
  }
}

type Field<R> = readonly [name: string, show: (row: R) => string | null];

const FIGURES: readonly Field<Pick<ReportedRequest, "usage" | "debitMicroUsd">>[] = [
  ...TOKEN_BUCKET_NAMES.map((bucket): Field<Pick<ReportedRequest, "usage">> => [
    TOKEN_BUCKETS[bucket],
    ({ usage }) => (usage === null ? null : String(usage[bucket])),
  ]),
  ["cost_usd", ({ debitMicroUsd }) => formatUsd(debitMicroUsd)],
  ["cost_micro_usd", ({ debitMicroUsd }) => debitMicroUsd.toString()],
];

const ROW_FIELDS: readonly Field<ReportedRequest>[] = [
  ["request_id", ({ requestId }) => requestId],
  ["created", ({ createdAtMs }) => instant(createdAtMs)],
  ["key_id", (row) => plainCell(presentKeyId(row))],
  ["model", ({ modelId }) => plainCell(modelId ?? "")],
  ["provider", ({ providerId }) => plainCell(providerId ?? "")],
  ["route", ({ route }) => plainCell(route)],
  ...FIGURES,
  ["settlement", ({ basis }) => basis],
];

const groupFields = (by: Grouping): readonly Field<UsageGroup>[] => [
  [by === "key" ? "key_id" : by, ({ group }) => plainCell(group)],
  ["requests", ({ requests }) => String(requests)],
  ...FIGURES,
];

function renderHeader<R>(fields: readonly Field<R>[]): string {
  return `${csvLine(fields.map(([name]) => name))}\r\n`;
}

function renderLines<R>(fields: readonly Field<R>[], rows: readonly R[]): string {
  return rows.map((row) => `${csvLine(fields.map(([, show]) => show(row)))}\r\n`).join("");
}

/** Returns, for example, `usage.csv` or `usage-by-day-from-2026-04-01-to-2026-05-01.csv`. */
function fileName({ groupBy, range }: ReadUsageQuery): string {
  const parts = ["usage"];
  if (groupBy !== undefined) parts.push(`by-${groupBy}`);
  if (range.fromMs !== undefined) parts.push(`from-${isoDay(range.fromMs)}`);
  if (range.toMs !== undefined) parts.push(`to-${isoDay(range.toMs)}`);
  return `${parts.join("-")}.csv`;
}
