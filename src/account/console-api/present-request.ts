import {
  type BySku,
  bySkuName,
  csvLine,
  formatUsd,
  instant,
  isManagedOrigin,
  microUsd,
  type PicoUsd,
  plainCell,
  presentKeyId,
  showTokens,
  TOKEN_BUCKETS,
} from "../../kernel/index.ts";
import type {
  ReportedRequest,
  ReportFigures,
  ReportFilter,
  UsageReport,
  UsageReports,
} from "../../gateway/index.ts";
import { Attempt, RequestRow, type Usage, type UsageFigures } from "./contract/usage.ts";
import { present } from "./present.ts";

/** Presents one request. A managed key is shown by its purpose, never by its id. */
export function presentRequest(request: ReportedRequest): RequestRow {
  return present(RequestRow, request, {
    key_id: isManagedOrigin(request.keyOrigin) ? null : request.keyId,
    source: describeSource(request),
    tokens: request.usage === null ? null : showTokens(request.usage),
    cost_usd: formatUsd(request.debitMicroUsd),
  });
}

function describeSource({ keyOrigin, keyName }: ReportedRequest): string {
  if (keyOrigin === "playground") return "Playground";
  return keyOrigin === "optimize" ? `Optimize search ${keyName}` : keyName;
}

export type FoundRequest = NonNullable<Awaited<ReturnType<UsageReports["request"]>>>;

export function presentAttempt(attempt: FoundRequest["attempts"][number]): Attempt {
  return present(Attempt, attempt, {
    n: attempt.ordinal,
    upstream_id: attempt.upstreamModelId,
    served_model: attempt.served?.name ?? null,
    substituted: attempt.served?.isSubstituted ?? null,
    tokens: attempt.usage === null ? null : showTokens(attempt.usage),
    reserved_usd: formatUsd(attempt.reserveMicroUsd),
    settled_usd: formatUsd(attempt.debitMicroUsd),
    settlement: attempt.basis,
    above_prompt_tokens: attempt.sheet.abovePromptTokens,
    prices: attempt.prices === null ? null : presentPrices(attempt.prices),
  });
}

export function presentPrices(prices: BySku<bigint>): NonNullable<Attempt["prices"]> {
  return bySkuName(prices, perMillion);
}

/* Pico-dollars per token equal micro-dollars per million tokens. */
export function perMillion(picoUsdPerToken: PicoUsd | bigint): string {
  return formatUsd(microUsd(picoUsdPerToken)).replace(/\.?0+$/, "");
}

const ROW_FIELDS = Object.keys(RequestRow.properties) as readonly (keyof RequestRow)[];

const REQUEST_COLUMNS = ROW_FIELDS.flatMap((name): readonly string[] =>
  name === "tokens" ? Object.values(TOKEN_BUCKETS) : [name],
);
export const REQUESTS_HEAD = `${csvLine(REQUEST_COLUMNS)}\r\n`;

/** Formats a request as a CSV line in which no spreadsheet reads a text as a formula. */
export function requestLine(request: ReportedRequest): string {
  const row = { ...presentRequest(request), key_id: presentKeyId(request) };
  const cells = ROW_FIELDS.flatMap((name) => {
    if (name !== "tokens") return [cell(row[name])];
    return Object.values(TOKEN_BUCKETS).map((bucket) => cell(row.tokens?.[bucket] ?? null));
  });
  return `${csvLine(cells)}\r\n`;
}

function cell(value: string | number | boolean | null): string | null {
  return value === null ? null : plainCell(String(value));
}

export function presentUsage(
  report: UsageReport,
  { fromMs, toMs }: Pick<ReportFilter, "fromMs" | "toMs">,
  nameOf: (group: string) => string,
): Usage {
  return {
    from: instant(fromMs),
    to: instant(toMs),
    totals: presentFigures(report.totals),
    bucket: report.bucket,
    series: report.series.map(({ atMs, parts, firstByteP50Ms, firstByteP95Ms }) => ({
      at: instant(atMs),
      parts: Object.fromEntries(
        [...parts].map(([group, { requests, byStatus, tokens, debitMicroUsd }]) => [
          group,
          { requests, by_status: byStatus, tokens, spent_usd: formatUsd(debitMicroUsd) },
        ]),
      ),
      ttft_p50_ms: firstByteP50Ms,
      ttft_p95_ms: firstByteP95Ms,
    })),
    groups: report.groups.map(({ group, figures }) => ({
      group,
      name: nameOf(group),
      figures: presentFigures(figures),
    })),
  };
}

export function presentFigures(figures: ReportFigures): UsageFigures {
  return {
    requests: figures.requests,
    by_status: figures.byStatus,
    spent_usd: formatUsd(figures.debitMicroUsd),
    tokens: showTokens(figures.usage),
    ttft_p50_ms: figures.firstByteP50Ms,
    ttft_p95_ms: figures.firstByteP95Ms,
  };
}
