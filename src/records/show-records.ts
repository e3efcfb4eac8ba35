import {
  bySkuName,
  instant,
  microUsd,
  type MicroUsd,
  outputTokensTotal,
  promptTokensTotal,
  sumUsage,
  type Usage as TokenCounts,
  usd,
} from "../core/index.ts";
import type { Balance, MonthSpend } from "../ledger/index.ts";
import type { Tokens } from "../json/index.ts";
import type { Attempt, Generation, Usage, UsageTokens } from "./contract/usage.ts";
import { answerHeadersOf, droppedParamsOf } from "./answer-headers.ts";
import { shownPrices } from "./list-models.ts";
import type {
  AttemptRecord,
  PricedAttempt,
  Refused,
  RequestRecord,
  UsageGroup,
  UsageRow,
} from "./record-store.ts";

export interface UsagePage {
  readonly balance: Balance;
  readonly month: MonthSpend;
  readonly rows: readonly UsageRow[];
  readonly groups?: readonly UsageGroup[];
  readonly nextCursor: string | null;
}

/** The answer of `GET /v1/usage`, for `printJson`. */
export function shownUsage(page: UsagePage): Usage {
  const { balance, month } = page;
  const available = microUsd(balance.settledMicroUsd - balance.heldMicroUsd);
  return {
    object: "list",
    balance: {
      available_usd: usd(available),
      settled_usd: usd(balance.settledMicroUsd),
      held_usd: usd(balance.heldMicroUsd),
      available_micro_usd: available,
      settled_micro_usd: balance.settledMicroUsd,
      held_micro_usd: balance.heldMicroUsd,
    },
    month: {
      spent_usd: usd(month.spentMicroUsd),
      in_flight_usd: usd(month.inFlightMicroUsd),
      cap_usd: month.capMicroUsd === null ? null : usd(month.capMicroUsd),
      reset_at: instant(month.resetAtMs),
    },
    data: page.groups === undefined ? page.rows.map(usageRow) : page.groups.map(usageGroup),
    has_more: page.nextCursor !== null,
    next_cursor: page.nextCursor,
  };
}

/** The answer of `GET /v1/generation`, for `printJson`. */
export function shownGeneration(record: RequestRecord): Generation {
  const debit = sum(record.attempts.map((each) => each.debitMicroUsd));
  return {
    data: {
      id: record.requestId,
      request_id: record.requestId,
      model: record.modelId,
      route: record.route,
      stream: record.stream,
      created_at: instant(record.createdAtMs),
      outcome: record.outcome,
      ...servedFields(record.attempts.at(-1)),
      total_cost: usd(debit),
      cost_micro_usd: debit,
      reserved_micro_usd: sum(record.attempts.map((each) => each.reserveMicroUsd)),
      usage: tokens(sumUsage(record.attempts.flatMap((each) => each.usage ?? []))),
      dropped_params: droppedParamsOf(record),
      response_headers: answerHeadersOf(record),
      attempts: record.attempts.map(attempt),
      ...(record.refused !== undefined && { refusal: refusalFields(record.refused) }),
    },
  };
}

/** What the answer's error body and headers said, except for its sentence. */
function refusalFields({
  errorClass,
  reason,
}: Refused): NonNullable<Generation["data"]["refusal"]> {
  return { error_type: errorClass, ...reason };
}

/** The model that the provider reported, and whether the listing does not allow it. */
function servedFields(
  record: AttemptRecord | undefined,
): Pick<Attempt, "served_model" | "substituted"> {
  const served = record?.served ?? undefined;
  return { served_model: served?.name ?? null, substituted: served?.isSubstituted ?? null };
}

function attempt(record: PricedAttempt): Attempt {
  return {
    n: record.ordinal,
    provider: record.providerId,
    upstream_id: record.upstreamModelId,
    started_at: instant(record.startedAtMs),
    first_byte_ms: record.firstByteMs,
    duration_ms: record.durationMs,
    outcome: record.outcome,
    upstream_status: record.upstreamStatus,
    error_type: record.errorClass,
    ...servedFields(record),
    tokens: record.usage === null ? null : tokens(record.usage),
    settled_cost: usd(record.debitMicroUsd),
    settled_cost_micro_usd: record.debitMicroUsd,
    reserved_micro_usd: record.reserveMicroUsd,
    settlement: record.basis,
    price_sheet: {
      id: record.sheet.pinId,
      above_prompt_tokens: record.sheet.abovePromptTokens,
      pricing: record.prices === null ? null : shownPrices(record.prices),
    },
  };
}

function usageRow(row: UsageRow): Usage["data"][number] {
  return {
    request_id: row.requestId,
    created: Math.floor(row.createdAtMs / 1000),
    key_id: row.keyId,
    model: row.modelId,
    provider: row.providerId,
    route: row.route,
    usage: row.usage === null ? null : usageWithTotals(row.usage),
    cost: usd(row.debitMicroUsd),
    cost_micro_usd: row.debitMicroUsd,
    settlement: row.basis,
  };
}

function usageGroup(group: UsageGroup): Usage["data"][number] {
  return {
    group: group.group,
    requests: group.requests,
    usage: usageWithTotals(group.usage),
    cost: usd(group.debitMicroUsd),
    cost_micro_usd: group.debitMicroUsd,
  };
}

function usageWithTotals(usage: TokenCounts): UsageTokens {
  const prompt = promptTokensTotal(usage);
  const output = outputTokensTotal(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    ...tokens(usage),
  };
}

function tokens(usage: TokenCounts): Tokens {
  return bySkuName(usage, (count) => count);
}

function sum(amounts: readonly MicroUsd[]): MicroUsd {
  return microUsd(amounts.reduce<bigint>((total, each) => total + each, 0n));
}
