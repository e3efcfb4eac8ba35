import { type Static, Type } from "typebox";

import {
  Count,
  Instant,
  listOf,
  MaybeInteger,
  MaybeText,
  MicroUsdNumber,
  nullable,
  oneOf,
  type ReadRoute,
  Tokens,
  UsdNumber,
  wholeNumber,
} from "../../json/index.ts";
import { LIST_ROWS_MAX, Pricing } from "./models.ts";

export const GROUPINGS = ["day", "model", "key", "provider"] as const;
export type Grouping = (typeof GROUPINGS)[number];

const MOMENT = "must be Unix seconds or an ISO date such as 2026-01-31, not {value}";

/** In the order in which they are checked. */
export const UsageQuery = Type.Partial(
  Type.Object({
    limit: wholeNumber(1, LIST_ROWS_MAX, "default 50"),
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
export type UsageQuery = Static<typeof UsageQuery>;

const UsageTokens = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  ...Tokens.properties,
});
export type UsageTokens = Static<typeof UsageTokens>;

const Cost = { cost: UsdNumber, cost_micro_usd: MicroUsdNumber };

const UsageRow = Type.Object({
  request_id: Type.String(),
  created: Type.Integer({ description: "Unix seconds" }),
  key_id: Type.String(),
  model: Type.String(),
  provider: Type.String(),
  route: Type.String(),
  usage: nullable(UsageTokens),
  ...Cost,
  settlement: MaybeText,
});

const UsageGroup = Type.Object({
  group: Type.String(),
  requests: Count,
  usage: UsageTokens,
  ...Cost,
});

export const Usage = Type.Object({
  object: Type.Literal("list"),
  balance: Type.Object({
    available_usd: UsdNumber,
    settled_usd: UsdNumber,
    held_usd: UsdNumber,
    available_micro_usd: MicroUsdNumber,
    settled_micro_usd: MicroUsdNumber,
    held_micro_usd: MicroUsdNumber,
  }),
  month: Type.Object({
    spent_usd: UsdNumber,
    in_flight_usd: UsdNumber,
    cap_usd: nullable(UsdNumber),
    reset_at: Instant,
  }),
  data: listOf(Type.Union([UsageRow, UsageGroup]), {
    description: "rows, or sums with `group_by`",
  }),
  has_more: Type.Boolean(),
  next_cursor: MaybeText,
});
export type Usage = Static<typeof Usage>;

const served = { served_model: MaybeText, substituted: nullable(Type.Boolean()) };

const Attempt = Type.Object({
  n: Type.Integer(),
  provider: Type.String(),
  upstream_id: Type.String(),
  started_at: Instant,
  first_byte_ms: nullable(Count),
  duration_ms: nullable(Count),
  outcome: Type.String(),
  upstream_status: MaybeInteger,
  error_type: MaybeText,
  ...served,
  tokens: nullable(Tokens),
  settled_cost: UsdNumber,
  settled_cost_micro_usd: MicroUsdNumber,
  reserved_micro_usd: MicroUsdNumber,
  settlement: MaybeText,
  price_sheet: Type.Object({
    id: Type.String(),
    above_prompt_tokens: Type.Integer(),
    pricing: nullable(Pricing),
  }),
});
export type Attempt = Static<typeof Attempt>;

const DROPPED =
  "names of fields that were not sent to the provider; `unrecognized` is shown for names that no " +
  "interface documents, which are in the answer's header alone";

export const Generation = Type.Object({
  data: Type.Object({
    id: Type.String(),
    request_id: Type.String(),
    model: MaybeText,
    route: Type.String(),
    stream: Type.Boolean(),
    created_at: Instant,
    outcome: Type.String(),
    ...served,
    total_cost: UsdNumber,
    cost_micro_usd: MicroUsdNumber,
    reserved_micro_usd: MicroUsdNumber,
    usage: Tokens,
    dropped_params: listOf(Type.String(), { description: DROPPED }),
    response_headers: Type.Unsafe<Readonly<Record<string, string>>>({
      type: "object",
      additionalProperties: { type: "string" },
      description:
        "the headers of the answer that say how it was served or why it was refused, by name",
    }),
    attempts: listOf(Attempt, { description: "every request that was sent to a provider" }),
    refusal: Type.Optional(
      Type.Unsafe<{ readonly error_type: string }>({
        type: "object",
        required: ["error_type"],
        properties: { error_type: { type: "string" } },
        description: "why the gateway refused it: what its error said, except for the sentence",
      }),
    ),
  }),
});
export type Generation = Static<typeof Generation>;

export const usageRoutes = {
  "GET /v1/usage": {
    summary: "Balance, this month, and what was charged",
    tag: "Records",
    query: UsageQuery,
    answer: Usage,
    hasFile: true,
  },
  "GET /v1/generation": {
    summary: "One request: every attempt with tokens and cost",
    tag: "Records",
    query: Type.Object({
      id: Type.String({ description: "the `x-request-id` of an earlier answer" }),
    }),
    answer: Generation,
  },
} as const satisfies Readonly<Record<string, ReadRoute>>;
