import { Type, type Static } from "typebox";

import { Count, Instant, List, oneOf, Usd } from "../kernel/json/schema-parts.ts";

/** Fields that do not apply to a refusal are absent. */
export const RefusalReason = Type.Object({
  status: Count,
  retryable: Type.Boolean(),
  origin: Type.Optional(Type.String()),
  limit_scope: Type.Optional(Type.String()),
  cap_period: Type.Optional(oneOf("day", "week")),
  limit_kind: Type.Optional(Type.String()),
  limit_id: Type.Optional(Type.String()),
  /** How many seconds the client must wait before it retries. */
  retry_after: Type.Optional(Count),
  retry_at: Type.Optional(Instant),
  reset_at: Type.Optional(Instant),
  limit: Type.Optional(Count),
  /** How many requests or tokens were in use, and how many the request would have added. */
  used: Type.Optional(Count),
  asked: Type.Optional(Count),
  cap_usd: Type.Optional(Usd),
  spent_usd: Type.Optional(Usd),
  in_flight_usd: Type.Optional(Usd),
  available_usd: Type.Optional(Usd),
  needed_usd: Type.Optional(Usd),
  dropped_params: Type.Optional(List(Type.String())),
});
export type RefusalReason = Static<typeof RefusalReason>;

/** The cause of a refusal, by what the customer can do about it. */
export const RefusalCause = oneOf(
  "balance",
  /** The credit was sufficient, but running requests held it. */
  "held",
  "org_cap",
  "key_cap",
  "limit",
  "unusual_use",
  "provider",
  "request",
);
export type RefusalCause = Static<typeof RefusalCause>;
