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
  shownKeyId,
  type Usage,
} from "../core/index.ts";
import type { ReportedRequest, UsageReports } from "../records/index.ts";
import type { Attempt, RequestRow, Tokens } from "./contract.ts";

/** One request of the log. The marketplace's own keys are shown by their purpose, never by id. */
export function shownRequest(request: ReportedRequest): RequestRow {
  return {
    request_id: request.requestId,
    created_at: instant(request.createdAtMs),
    model: request.modelId,
    key_id: isManagedOrigin(request.keyOrigin) ? null : request.keyId,
    source: sourceOf(request),
    provider: request.providerId,
    route: request.route,
    stream: request.stream,
    attempts: request.attempts,
    status: request.status,
    outcome: request.outcome,
    error_class: request.errorClass,
    tokens: request.usage === null ? null : shownTokens(request.usage),
    first_byte_ms: request.firstByteMs,
    duration_ms: request.durationMs,
    cost_usd: formatUsd(request.debitMicroUsd),
  };
}

function sourceOf({ keyOrigin, keyName }: ReportedRequest): string {
  if (keyOrigin === "playground") return "Playground";
  return keyOrigin === "optimize" ? `Optimize search ${keyName}` : keyName;
}

export function shownTokens(usage: Usage): Tokens {
  return bySkuName(usage, (tokens) => tokens);
}

type ReportedAttempt = NonNullable<
  Awaited<ReturnType<UsageReports["request"]>>
>["attempts"][number];

export function shownAttempt(attempt: ReportedAttempt): Attempt {
  return {
    n: attempt.ordinal,
    provider: attempt.providerId,
    upstream_id: attempt.upstreamModelId,
    started_at: instant(attempt.startedAtMs),
    first_byte_ms: attempt.firstByteMs,
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    upstream_status: attempt.upstreamStatus,
    error_class: attempt.errorClass,
    served_model: attempt.served?.name ?? null,
    substituted: attempt.served?.isSubstituted ?? null,
    tokens: attempt.usage === null ? null : shownTokens(attempt.usage),
    reserved_usd: formatUsd(attempt.reserveMicroUsd),
    settled_usd: formatUsd(attempt.debitMicroUsd),
    settlement: attempt.basis,
    above_prompt_tokens: attempt.sheet.abovePromptTokens,
    prices: attempt.prices === null ? null : shownPrices(attempt.prices),
  };
}

/** Dollars per million tokens of each SKU, exactly. */
export function shownPrices(prices: BySku<bigint>): NonNullable<Attempt["prices"]> {
  return bySkuName(prices, perMillion);
}

/* Pico-dollars for a token are as many micro-dollars for a million of them. */
function perMillion(picoUsdPerToken: PicoUsd | bigint): string {
  return formatUsd(microUsd(picoUsdPerToken)).replace(/\.?0+$/, "");
}

export const REQUEST_COLUMNS: readonly string[] = [
  "request_id",
  "created_at",
  "model",
  "key_id",
  "source",
  "provider",
  "route",
  "stream",
  "attempts",
  "status",
  "outcome",
  "error_class",
  "prompt",
  "cached_prompt",
  "cache_write",
  "completion",
  "internal_reasoning",
  "first_byte_ms",
  "duration_ms",
  "cost_usd",
];

/** One request as a line of the file; what people have named is kept from being a formula. */
export function requestLine(request: ReportedRequest): string {
  const row = shownRequest(request);
  const { tokens } = row;
  const counts =
    tokens === null
      ? [null, null, null, null, null]
      : [
          tokens.prompt,
          tokens.cached_prompt,
          tokens.cache_write,
          tokens.completion,
          tokens.internal_reasoning,
        ];
  const cells = [
    row.request_id,
    row.created_at,
    plainOrNull(row.model),
    plainCell(shownKeyId(request)),
    plainCell(row.source),
    plainOrNull(row.provider),
    plainCell(row.route),
    String(row.stream),
    String(row.attempts),
    row.status,
    row.outcome,
    row.error_class,
    ...counts.map(textOrNull),
    textOrNull(row.first_byte_ms),
    textOrNull(row.duration_ms),
    row.cost_usd,
  ];
  return `${csvLine(cells)}\r\n`;
}

function plainOrNull(text: string | null): string | null {
  return text === null ? null : plainCell(text);
}

function textOrNull(value: number | null): string | null {
  return value === null ? null : String(value);
}
