import { Type, type Static } from "typebox";

import { Fields, Id, Instant, nullable, oneOf, reads, ShortText } from "./shared.ts";

const ACTION_GROUPS = [
  "org",
  "account",
  "session",
  "key",
  "limit",
  "endpoint",
  "connection",
  "credit",
  "purchase",
  "hold",
  "company",
  "optimize",
  "member",
  "alert",
  "topup",
  "card",
] as const;

export const ShownChange = Type.Object({
  position: Type.Integer(),
  at: Instant,
  actor_kind: oneOf("operator", "account", "key", "provider_news", "gateway"),
  actor_id: nullable(Id),
  actor: Type.String(),
  action: Type.String(),
  says: Type.String(),
  target: Type.String(),
  target_name: nullable(Type.String()),
  before: nullable(Type.Record(Type.String(), Type.Unknown())),
  after: nullable(Type.Record(Type.String(), Type.Unknown())),
  request_id: nullable(Type.String()),
  client_network: nullable(Type.String()),
});
export type ShownChange = Static<typeof ShownChange>;

const filters = {
  kind: Type.Optional(oneOf(...ACTION_GROUPS)),
  by: Type.Optional(ShortText("the ID of the account that made the changes")),
  until: Type.Optional(
    Type.String({
      pattern: "^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
      description: "the last day (UTC), such as 2027-01-31",
    }),
  ),
};

export const ChangesFilter = Fields(filters);
export type ChangesFilter = Static<typeof ChangesFilter>;
export type ChangeKind = (typeof ACTION_GROUPS)[number];

export const ShownChanges = Type.Object({
  data: Type.Array(ShownChange),
  next_before: nullable(Type.String()),
});
export type ShownChanges = Static<typeof ShownChanges>;

export const changeRoutes = {
  "GET /api/console/changes": {
    summary: "Who changed what in the organization, newest first",
    ...reads,
    query: Fields({
      ...filters,
      before: Type.Optional(
        Type.String({ pattern: "^[0-9]{1,15}$", description: "a position of an earlier page" }),
      ),
    }),
    answer: ShownChanges,
  },
  "GET /api/console/changes.csv": {
    summary: "The same, all of it, as CSV",
    needs: "read",
    query: ChangesFilter,
    answerType: "text/csv",
  },
  "GET /api/console/changes.ndjson": {
    summary: "The same, all of it, as one JSON object a line",
    needs: "read",
    query: ChangesFilter,
    answerType: "application/x-ndjson",
  },
} as const;
