import { type Static, Type } from "typebox";

import {
  instant,
  microUsd,
  type MicroUsd,
  outputTokensTotal,
  presentKeyId,
  promptTokensTotal,
  sumUsage,
  type Usage,
  usd,
  Count,
  type DefineField,
  Instant,
  List,
  MaybeInteger,
  MaybeText,
  MicroUsdNumber,
  nullable,
  oneOf,
  type ReadRoute,
  shape,
  showTokens,
  Tokens,
  UsdNumber,
  Whole,
} from "../../../kernel/index.ts";
import { type Balance, type MonthSpend, RefusalReason } from "../../../ledger/index.ts";
import { buildAnswerHeaders, listDroppedParams } from "../answer-headers.ts";
import type { AttemptRecord, PricedAttempt, RequestRecord, UsageGroup } from "../record-rows.ts";
import type { ReportedRequest } from "../request-pages.ts";
import { LIST_ROWS_MAX } from "./models.ts";
import { Pricing, showPrices } from "./prices.ts";

export const GROUPINGS = ["day", "model", "key", "provider"] as const;
export type Grouping = (typeof GROUPINGS)[number];

const MOMENT = "must be Unix seconds or an ISO date such as 2026-01-31, not {value}";

/** The query of `GET /v1/usage`, in the order in which the parameters are checked. */
export const UsageParameters = Type.Partial(
  Type.Object({
    limit: Whole(1, LIST_ROWS_MAX, "default 50"),
    from: Type.String({
      format: "moment",
      description: "Unix seconds, or an ISO date or instant",
      says: MOMENT,
    }),
    to: Type.String({ format: "moment", description: "the same; exclusive", says: MOMENT }),
    group_by: Type.Unsafe<Grouping>({
      ...oneOf(...GROUPINGS),
      description: "sums instead of rows",
      says: `must be one of ${GROUPINGS.join(", ")}`,
    }),
    cursor: Type.String({
      format: "request-id",
      description: "`next_cursor` of the page before",
      says: "must be the next_cursor of an earlier page",
    }),
    format: Type.Unsafe<"json" | "csv">({
      ...oneOf("json", "csv"),
      description: "default `json`",
      says: "must be csv or json",
    }),
  }),
);

const UsageTokens = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  ...Tokens.properties,
});

function showUsage(usage: Usage): Static<typeof UsageTokens> {
  const prompt = promptTokensTotal(usage);
  const output = outputTokensTotal(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    ...showTokens(usage),
  };
}

function defineDebit<R extends Pick<UsageGroup, "debitMicroUsd">>(is: DefineField<R>) {
  return {
    cost: is(UsdNumber, ({ debitMicroUsd }) => usd(debitMicroUsd)),
    cost_micro_usd: is(MicroUsdNumber, ({ debitMicroUsd }) => debitMicroUsd),
  };
}

const usageRow = shape((is: DefineField<ReportedRequest>) => ({
  request_id: is(Type.String(), (row) => row.requestId),
  created: is(Type.Integer({ description: "Unix seconds" }), (row) =>
    Math.floor(row.createdAtMs / 1000),
  ),
  key_id: is(Type.String(), presentKeyId),
  model: is(Type.String(), (row) => row.modelId ?? ""),
  provider: is(Type.String(), (row) => row.providerId ?? ""),
  route: is(Type.String(), (row) => row.route),
  usage: is(nullable(UsageTokens), ({ usage }) => (usage === null ? null : showUsage(usage))),
  ...defineDebit(is),
  settlement: is(MaybeText, (row) => row.basis),
}));

const usageGroup = shape((is: DefineField<UsageGroup>) => ({
  group: is(Type.String(), ({ group }) => group),
  requests: is(Count, ({ requests }) => requests),
  usage: is(UsageTokens, ({ usage }) => showUsage(usage)),
  ...defineDebit(is),
}));

const balance = shape((is: DefineField<Balance>) => ({
  available_usd: is(UsdNumber, (each) => usd(available(each))),
  settled_usd: is(UsdNumber, ({ settledMicroUsd }) => usd(settledMicroUsd)),
  held_usd: is(UsdNumber, ({ heldMicroUsd }) => usd(heldMicroUsd)),
  available_micro_usd: is(MicroUsdNumber, available),
  settled_micro_usd: is(MicroUsdNumber, ({ settledMicroUsd }) => settledMicroUsd),
  held_micro_usd: is(MicroUsdNumber, ({ heldMicroUsd }) => heldMicroUsd),
}));

function available({ settledMicroUsd, heldMicroUsd }: Balance): MicroUsd {
  return microUsd(settledMicroUsd - heldMicroUsd);
}

const month = shape((is: DefineField<MonthSpend>) => ({
  spent_usd: is(UsdNumber, ({ spentMicroUsd }) => usd(spentMicroUsd)),
  in_flight_usd: is(UsdNumber, ({ inFlightMicroUsd }) => usd(inFlightMicroUsd)),
  cap_usd: is(nullable(UsdNumber), ({ capMicroUsd: cap }) => (cap === null ? null : usd(cap))),
  reset_at: is(Instant, ({ resetAtMs }) => instant(resetAtMs)),
}));

export interface UsagePage {
  readonly balance: Balance;
  readonly month: MonthSpend;
  readonly rows: readonly ReportedRequest[];
  readonly groups?: readonly UsageGroup[];
  /** True if there are more groups than the limit. Groups have no cursor that would show this. */
  readonly hasMoreGroups?: boolean;
  readonly nextCursor: string | null;
}

export const usagePage = shape((is: DefineField<UsagePage>) => ({
  object: is(Type.Literal("list"), () => "list" as const),
  balance: is(balance.schema, (page) => balance.show(page.balance)),
  month: is(month.schema, (page) => month.show(page.month)),
  data: is(
    List(Type.Union([usageRow.schema, usageGroup.schema]), {
      description: "rows, or sums with `group_by`",
    }),
    ({ rows, groups }) => groups?.map(usageGroup.show) ?? rows.map(usageRow.show),
  ),
  has_more: is(
    Type.Boolean(),
    ({ nextCursor, hasMoreGroups }) => nextCursor !== null || hasMoreGroups === true,
  ),
  next_cursor: is(MaybeText, ({ nextCursor }) => nextCursor),
}));

/** `substituted` is true if the listing does not allow the model that the provider reported. */
function defineServed<R>(
  is: DefineField<R>,
  findAttempt: (record: R) => AttemptRecord | undefined,
) {
  return {
    served_model: is(MaybeText, (each) => findAttempt(each)?.served?.name ?? null),
    substituted: is(
      nullable(Type.Boolean()),
      (each) => findAttempt(each)?.served?.isSubstituted ?? null,
    ),
  };
}

const priceSheet = shape((is: DefineField<PricedAttempt>) => ({
  id: is(Type.String(), ({ sheet }) => sheet.pinId),
  above_prompt_tokens: is(Type.Integer(), ({ sheet }) => sheet.abovePromptTokens),
  pricing: is(nullable(Pricing), ({ prices }) => (prices === null ? null : showPrices(prices))),
}));

const attempt = shape((is: DefineField<PricedAttempt>) => ({
  n: is(Type.Integer(), (each) => each.ordinal),
  provider: is(Type.String(), (each) => each.providerId),
  upstream_id: is(Type.String(), (each) => each.upstreamModelId),
  started_at: is(Instant, (each) => instant(each.startedAtMs)),
  first_byte_ms: is(nullable(Count), (each) => each.firstByteMs),
  duration_ms: is(nullable(Count), (each) => each.durationMs),
  outcome: is(Type.String(), (each) => each.outcome),
  upstream_status: is(MaybeInteger, (each) => each.upstreamStatus),
  error_type: is(MaybeText, (each) => each.errorClass),
  ...defineServed(is, (each) => each),
  tokens: is(nullable(Tokens), ({ usage }) => (usage === null ? null : showTokens(usage))),
  settled_cost: is(UsdNumber, (each) => usd(each.debitMicroUsd)),
  settled_cost_micro_usd: is(MicroUsdNumber, (each) => each.debitMicroUsd),
  reserved_micro_usd: is(MicroUsdNumber, (each) => each.reserveMicroUsd),
  settlement: is(MaybeText, (each) => each.basis),
  price_sheet: is(priceSheet.schema, priceSheet.show),
}));

const DROPPED =
  "names of fields that were not sent to the provider; `unrecognized` is shown for names that no " +
  "interface documents, which are in the answer's header alone";

const Headers = Type.Unsafe<Readonly<Record<string, string>>>({
  type: "object",
  additionalProperties: { type: "string" },
  description:
    "the headers of the answer that say how it was served or why it was refused, by name",
});

const RefusalFields = Type.Object(
  { error_type: Type.String(), ...Type.Partial(RefusalReason).properties },
  { description: "why the gateway refused it: what its error said, except for the sentence" },
);

const request = shape((is: DefineField<RequestRecord>) => ({
  id: is(Type.String(), (record) => record.requestId),
  request_id: is(Type.String(), (record) => record.requestId),
  model: is(MaybeText, (record) => record.modelId),
  route: is(Type.String(), (record) => record.route),
  stream: is(Type.Boolean(), (record) => record.stream),
  created_at: is(Instant, (record) => instant(record.createdAtMs)),
  outcome: is(Type.String(), (record) => record.outcome),
  ...defineServed(is, ({ attempts }) => attempts.at(-1)),
  total_cost: is(UsdNumber, ({ attempts }) => usd(sum(attempts, "debitMicroUsd"))),
  cost_micro_usd: is(MicroUsdNumber, ({ attempts }) => sum(attempts, "debitMicroUsd")),
  reserved_micro_usd: is(MicroUsdNumber, ({ attempts }) => sum(attempts, "reserveMicroUsd")),
  usage: is(Tokens, ({ attempts }) =>
    showTokens(sumUsage(attempts.flatMap(({ usage }) => usage ?? []))),
  ),
  dropped_params: is(List(Type.String(), { description: DROPPED }), listDroppedParams),
  response_headers: is(Headers, buildAnswerHeaders),
  attempts: is(
    List(attempt.schema, { description: "every request that was sent to a provider" }),
    ({ attempts }) => attempts.map(attempt.show),
  ),
  refusal: is(Type.Optional(RefusalFields), ({ refused }) =>
    refused === undefined ? undefined : { error_type: refused.errorClass, ...refused.reason },
  ),
}));

function sum(
  attempts: readonly AttemptRecord[],
  name: "debitMicroUsd" | "reserveMicroUsd",
): MicroUsd {
  return microUsd(attempts.reduce<bigint>((total, each) => total + each[name], 0n));
}

export const generation = shape((is: DefineField<RequestRecord>) => ({
  data: is(request.schema, request.show),
}));

export const usageRoutes = {
  "GET /v1/usage": {
    summary: "Balance, this month, and what was charged",
    tag: "Records",
    query: UsageParameters,
    answer: usagePage.schema,
    hasFile: true,
  },
  "GET /v1/generation": {
    summary: "One request: every attempt with tokens and cost",
    tag: "Records",
    query: Type.Object({
      id: Type.String({ description: "the `x-request-id` of an earlier answer" }),
    }),
    answer: generation.schema,
  },
} as const satisfies Readonly<Record<string, ReadRoute>>;
