import { Type, type Static, type TSchema } from "typebox";

import { type Need, ROLES } from "../../core/roles.ts";
import { visibleText } from "../../core/visible-text.ts";
import { Instant, nullable, oneOf, Usd } from "../../json/schema-parts.ts";

export * from "../../json/schema-parts.ts";

/** One route of the console's API: who may ask, what it takes and what it answers. */
export type RouteContract = RouteShape & (SessionAccess | OtherAccess);

/** Signed in with a verified e-mail, by a member whose role in the organization may do this. */
interface SessionAccess {
  readonly access: "session";
  readonly needs: Need;
}

/**
 * `public`: no session is needed; `operator`: one that the setting `operators` names, and for all
 * others the path does not exist.
 */
interface OtherAccess {
  readonly access: "public" | "unverified" | "operator";
  readonly needs?: never;
}

interface RouteShape {
  readonly summary: string;
  /** It changes a setting: an organization may change so many a minute. */
  readonly isSetting?: true;
  /** Its body has a file in it, and may be larger than others. */
  readonly takesFile?: true;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Undefined where the answer is not JSON: `answerType` names it. */
  readonly answer?: TSchema;
  readonly answerType?: "text/csv" | "application/json" | "application/x-ndjson";
}

/** Dollars that a person typed: at most six fraction digits, never negative. */
export const UsdInput = Type.String({
  pattern: "^[0-9]{1,9}(\\.[0-9]{1,6})?$",
  maxLength: 16,
  description:
    'a string of dollars that is not negative and has at most six decimals, like "12.50"',
});
export const Id = Type.String({ minLength: 1, maxLength: 200 });
export const Name = Type.String({ minLength: 1, maxLength: 64, pattern: visibleText.source });

/** What a member of an organization is. */
export const RoleName = oneOf(...ROLES);
export type RoleName = Static<typeof RoleName>;

/** The body of every refusal of the console's API. */
export const ConsoleError = Type.Object({
  error: Type.Object({
    /** A canonical class of the gateway, or `signed_out`, `forbidden`, `gone`, `conflict`. */
    code: Type.String(),
    /** What was wrong, where, and the next step. */
    message: Type.String(),
    /** The field of the request that is meant, where it is one. */
    field: Type.Optional(Type.String()),
  }),
  request_id: Type.String(),
});
export type ConsoleError = Static<typeof ConsoleError>;

export const CallFamily = oneOf("chat", "images", "videos", "decisions");
export type CallFamily = Static<typeof CallFamily>;

export const Balance = Type.Object({
  /** Settled minus held: what a new request may use. */
  available_usd: Usd,
  /** Credits minus debits. */
  settled_usd: Usd,
  /** Reserves of what is in flight now. */
  held_usd: Usd,
});
export type Balance = Static<typeof Balance>;

/** There when a replica served a part of the answer: its data is of this instant or younger. */
export const AsOf = { as_of: Type.Optional(Instant) };

export const Page = { next_cursor: nullable(Type.String()) };

/** True: also where it stops requests at once. Without it such a change is a 409 `confirm_needed`. */
export const Confirm = Type.Optional(Type.Boolean());
