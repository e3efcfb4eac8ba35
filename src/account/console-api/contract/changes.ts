import { Type, type Static } from "typebox";

import { Id, Instant, nullable, oneOf, Fields } from "./shared.ts";

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
] as const;

/** One change of the organization, by its people, its keys, the operator or this program. */
export const ShownChange = Type.Object({
  /** Grows with each change; pages go on from it. */
  position: Type.Integer(),
  at: Instant,
  actor_kind: oneOf("operator", "account", "key", "provider_news", "gateway"),
  /** The account's or the key's id; null: the operator, the payment provider or this program. */
  actor_id: nullable(Id),
  /** Whose that is, for people: "You", a member's e-mail address, "Token Market operator", … */
  actor: Type.String(),
  action: Type.String(),
  /** The change, to be read after the actor's name. */
  says: Type.String(),
  target: Type.String(),
  /** The e-mail address of a person; null when the target is no person, or not known any more. */
  target_name: nullable(Type.String()),
  /** Only what changed; null: it was not there. */
  before: nullable(Type.Record(Type.String(), Type.Unknown())),
  /** Only what changed; null: it is gone. */
  after: nullable(Type.Record(Type.String(), Type.Unknown())),
  request_id: nullable(Type.String()),
  /** The network of the caller's address, never the address. */
  client_network: nullable(Type.String()),
});
export type ShownChange = Static<typeof ShownChange>;

const kindFilter = { kind: Type.Optional(oneOf(...ACTION_GROUPS)) };

export const ChangesQuery = Fields({
  ...kindFilter,
  before: Type.Optional(
    Type.String({ pattern: "^[0-9]{1,15}$", description: "a position of an earlier page" }),
  ),
});
export const ChangesFilter = Fields(kindFilter);
export type ChangeKind = (typeof ACTION_GROUPS)[number];

export const ShownChanges = Type.Object({
  /** Newest first. */
  data: Type.Array(ShownChange),
  /** `before` of the next page; null: this is the last one. */
  next_before: nullable(Type.String()),
});
export type ShownChanges = Static<typeof ShownChanges>;

export const changeRoutes = {
  "GET /api/console/changes": {
    summary: "Who changed what in the organization, newest first",
    needs: "read",
    gate: "reads",
    query: ChangesQuery,
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
