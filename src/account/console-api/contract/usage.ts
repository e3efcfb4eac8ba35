import { Type, type Static } from "typebox";

import {
  ATTEMPT_OUTCOMES,
  REQUEST_STATUSES,
  type RequestStatus as Status,
} from "../../../kernel/core/request-status.ts";
import { RefusalCause, RefusalReason } from "../../../ledger/refusal-reason-schema.ts";
import {
  AsOf,
  BySku,
  Count,
  Fields,
  Id,
  Instant,
  nullable,
  oneOf,
  Page,
  reads,
  Tokens,
  Usd,
} from "./shared.ts";

const RequestOutcome = oneOf(...ATTEMPT_OUTCOMES);

/** Every request has exactly one of these statuses, in filters, badges, charts and files. */
export const RequestStatus = oneOf(...(Object.keys(REQUEST_STATUSES) as Status[]));

/** Requests by status. The counts add up to the number of all requests. */
const StatusCounts = Type.Object({
  succeeded: Count,
  rejected_by_gateway: Count,
  rejected_by_provider: Count,
  failed: Count,
  cancelled: Count,
  in_flight: Count,
});

export const FILTER_VALUES_MAX = 20;
/** Values separated by commas, which no id contains. A request matches if it has any of them. */
const Values = listOf("[^,]{1,200}", "values");
const Statuses = listOf(
  `(${Object.keys(REQUEST_STATUSES).join("|")})`,
  `of ${Object.keys(REQUEST_STATUSES).join(", ")}`,
);

function listOf(value: string, name: string) {
  return Type.String({
    pattern: `^${value}(,${value}){0,${FILTER_VALUES_MAX - 1}}$`,
    description: `1 to ${FILTER_VALUES_MAX} ${name} with commas between them`,
  });
}

const filters = {
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  model: Type.Optional(Values),
  provider: Type.Optional(Values),
  /** Ids of keys; `playground` and `optimize` select managed keys. */
  key: Type.Optional(Values),
  /** Selects all requests of keys, disabled ones included, that have any of these tags now. */
  tag: Type.Optional(Values),
  status: Type.Optional(Statuses),
};
export const UsageFilters = Fields(filters);
export type UsageFilters = Static<typeof UsageFilters>;

export const UsageFigures = Type.Object({
  requests: Count,
  by_status: StatusCounts,
  spent_usd: Usd,
  tokens: Tokens,
  /** Milliseconds to the first byte of streamed and whole answers. */
  ttft_p50_ms: nullable(Count),
  ttft_p95_ms: nullable(Count),
});
export type UsageFigures = Static<typeof UsageFigures>;

export const Usage = Type.Object({
  from: Instant,
  to: Instant,
  totals: UsageFigures,
  /** Five minutes for ranges up to three hours, an hour up to two days, else a UTC day. */
  bucket: oneOf("five_minutes", "hour", "day"),
  series: Type.Array(
    Type.Object({
      at: Instant,
      parts: Type.Record(
        Type.String(),
        Type.Object({
          requests: Count,
          by_status: StatusCounts,
          tokens: Count,
          spent_usd: Usd,
        }),
      ),
      ttft_p50_ms: nullable(Count),
      ttft_p95_ms: nullable(Count),
    }),
  ),
  groups: Type.Array(
    Type.Object({
      /** For managed keys, it is `playground` or `optimize`. */
      group: Type.String(),
      name: Type.String(),
      figures: UsageFigures,
    }),
  ),
  ...AsOf,
});
export type Usage = Static<typeof Usage>;

export const RequestRow = Type.Object({
  request_id: Id,
  created_at: Instant,
  model: nullable(Type.String()),
  key_id: nullable(Id),
  /** The key's name, `Playground`, or `Optimize search <name>`. */
  source: Type.String(),
  provider: nullable(Type.String()),
  route: Type.String(),
  stream: Type.Boolean(),
  attempts: Count,
  status: RequestStatus,
  outcome: RequestOutcome,
  error_class: nullable(Type.String()),
  tokens: nullable(Tokens),
  first_byte_ms: nullable(Count),
  duration_ms: nullable(Count),
  cost_usd: Usd,
});
export type RequestRow = Static<typeof RequestRow>;

export const Attempt = Type.Object({
  n: Count,
  provider: Type.String(),
  upstream_id: Type.String(),
  started_at: Instant,
  first_byte_ms: nullable(Count),
  duration_ms: nullable(Count),
  outcome: RequestOutcome,
  upstream_status: nullable(Count),
  error_class: nullable(Type.String()),
  served_model: nullable(Type.String()),
  substituted: nullable(Type.Boolean()),
  tokens: nullable(Tokens),
  reserved_usd: Usd,
  settled_usd: Usd,
  settlement: nullable(Type.String()),
  above_prompt_tokens: Count,
  prices: nullable(BySku(Type.String())),
});
export type Attempt = Static<typeof Attempt>;

export type { RefusalCause, RefusalReason } from "../../../ledger/refusal-reason-schema.ts";

export const refusalFields = {
  error_class: Type.String(),
  explanation: Type.String(),
  action: nullable(
    oneOf("add_credit", "raise_cap", "raise_limit", "edit_key", "choose_model", "contact_support"),
  ),
  key_id: nullable(Id),
  reason: nullable(RefusalReason),
};
export const Refusal = Type.Object(refusalFields);
export type Refusal = Static<typeof Refusal>;

export const RequestDetail = Type.Object({
  request: RequestRow,
  attempts: Type.Array(Attempt),
  dropped_params: Type.Array(Type.String()),
  response_headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  refusal: nullable(Refusal),
});
export type RequestDetail = Static<typeof RequestDetail>;

export const Overview = Type.Object({
  ...AsOf,
  spent_month_usd: Usd,
  org_cap_usd: nullable(Usd),
  cap_reset_at: Instant,
  lasts: nullable(
    Type.Object({
      per_day_usd: Usd,
      /** When the balance will be used up; null if that is more than a year from now. */
      until: nullable(Instant),
    }),
  ),
  last_24h: UsageFigures,
  before: Type.Object({
    last_24h: nullable(UsageFigures),
    /** The previous month's spend, up to the same day and time as now. */
    spent_month_usd: nullable(Usd),
  }),
  rejected_for: Type.Array(Type.Object({ cause: RefusalCause, requests: Count })),
  days: Type.Array(
    Type.Object({
      day: Type.String(),
      requests: Count,
      by_status: StatusCounts,
      spent_usd: Usd,
      spent_by_model: Type.Record(Type.String(), Usd),
    }),
  ),
  day_models: Type.Array(Type.Object({ model: Type.String(), name: Type.String() })),
  /** The models with the most spend. Their `requests` leave out rejected requests. */
  top_models: Type.Array(
    Type.Object({
      model: Type.String(),
      name: Type.String(),
      requests: Count,
      spent_usd: Usd,
    }),
  ),
  latest_errors: Type.Array(RequestRow),
  done: Type.Object({
    has_key: Type.Boolean(),
    has_credit: Type.Boolean(),
    has_request: Type.Boolean(),
  }),
});
export type Overview = Static<typeof Overview>;

export const usageRoutes = {
  "GET /api/console/overview": {
    summary: "The figures of the overview page",
    ...reads,
    answer: Overview,
  },
  "GET /api/console/usage": {
    summary: "Figures of a time range, in total and by group",
    ...reads,
    query: Fields({
      ...filters,
      group_by: Type.Optional(oneOf("model", "key", "provider", "day", "status")),
      rank_by: Type.Optional(oneOf("spend", "requests", "tokens", "failed", "rejected")),
    }),
    answer: Usage,
  },
  "GET /api/console/requests": {
    summary: "Requests, newest first or in another order",
    ...reads,
    query: Fields({
      ...filters,
      cursor: Type.Optional(Type.String({ maxLength: 200 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
      sort: Type.Optional(
        oneOf("time", "cost", "duration", "tokens", "cached", "first_token", "attempts"),
      ),
      direction: Type.Optional(oneOf("asc", "desc")),
    }),
    answer: Type.Object({ data: Type.Array(RequestRow), ...Page, ...AsOf }),
  },
  "GET /api/console/requests.csv": {
    summary: "The same as a file: one row per request, dollars as decimal strings",
    needs: "read",
    query: UsageFilters,
    answerType: "text/csv",
  },
  "GET /api/console/requests/:request_id": {
    summary: "One request with every attempt at a provider",
    ...reads,
    answer: RequestDetail,
  },
} as const;
