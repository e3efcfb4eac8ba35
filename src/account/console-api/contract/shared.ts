import { Type, type Static, type TProperties, type TSchema } from "typebox";

import type { ActionName } from "../../../kernel/changes/actions.ts";
import type { CapPeriod } from "../../../kernel/core/cap-period.ts";
import { type Need, ROLES } from "../../../kernel/core/roles.ts";
import { visibleText } from "../../../kernel/core/visible-text.ts";
import { Instant, nullable, oneOf, Usd } from "../../../kernel/json/schema-parts.ts";

export * from "../../../kernel/json/schema-parts.ts";

/** One route of the console's API: who may ask, what it takes and what it answers. */
export type RouteContract = RouteShape & (SessionAccess | OtherAccess);

/**
 * An operation that exists only as a command of operators. It has no path, and its name is its
 * usage.
 */
export interface CommandContract extends Omit<RouteShape, "command" | "isSetting" | "takesFile"> {
  readonly access: "command";
  readonly needs?: never;
  readonly command?: Omit<CommandFace, "usage">;
}

/** Signed in with a verified e-mail, by a member whose role in the organization may do this. */
interface SessionAccess {
  readonly access?: never;
  readonly needs: Need;
}

/**
 * `public`: no session is needed; `operator`: only for persons that the setting `operators` names,
 * and for all others the path does not exist.
 */
interface OtherAccess {
  readonly access: "public" | "operator";
  readonly needs?: never;
}

interface RouteShape {
  readonly summary: string;
  /** It changes a setting: how many an organization may change a minute is limited. */
  readonly isSetting?: true;
  /** It is slow: this gate limits how many requests of an organization run at a time. */
  readonly gate?: "reads" | "checks" | "payments";
  /**
   * The entries that the route may leave in the change log; `[]`: it sends or reads, and changes
   * nothing.
   */
  readonly changes?: readonly ActionName[];
  /** The command that does the same for operators; absent: only pages do it. */
  readonly command?: CommandFace;
  /** Its body has a file in it, and may be larger than others. */
  readonly takesFile?: true;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Undefined where the answer is not JSON: `answerType` names it. */
  readonly answer?: TSchema;
  readonly answerType?:
    "text/csv" | "application/json" | "application/x-ndjson" | "application/pdf";
}

/**
 * A route as a command. Its flags are the fields of the query and the body, described as they are
 * there; it acts for the organization of `--org` or of the argument, and answers what the route does.
 */
export interface CommandFace {
  /** `key show <key_id>`: an argument is a field of the path or the body, or the organization. */
  readonly usage: string;
  /** Default: the route's. */
  readonly summary?: string;
  /** Fields that a person types to confirm what a page shows: a command names its target itself. */
  readonly typed?: readonly string[];
  /** Fields whose null is written as `none`. */
  readonly none?: readonly string[];
  /** A field that no argument carries: it is read from standard input or a variable. */
  readonly secret?: string;
  /** It checks ids of models or providers, by the manifests of its place. */
  readonly readsCatalog?: true;
  /** A field whose text is that of a file: the flag names it. */
  readonly fromFile?: string;
  /** Columns of its lists as a text, with blanks between them; default: all. */
  readonly columns?: string;
  /** The list of the answer that `--csv` prints, with those columns. */
  readonly csv?: string;
  /** A field of the answer: the command exits with 1 where it is false, or a list with entries. */
  readonly verdict?: string;
}

/** Dollars that a person typed: at most six fraction digits, never negative. */
export const UsdInput = Type.String({
  pattern: "^[0-9]{1,9}(\\.[0-9]{1,6})?$",
  maxLength: 16,
  description:
    'a string of dollars that is not negative and has at most six decimals, like "12.50"',
});
/** A cap that is to be set; empty changes nothing. */
export function CapChange(period: CapPeriod) {
  const description = `a string of dollars per UTC ${period} like "12.50"; 0: no cap`;
  return Type.Union([UsdInput, Type.Literal("")], { description });
}

/** The fields that a request may have, and no others. */
export function Fields<P extends TProperties>(fields: P) {
  return Type.Object(fields, { additionalProperties: false });
}

export const Id = Type.String({ minLength: 1, maxLength: 200 });
export const Email = Type.String({ minLength: 3, maxLength: 320 });

/** An id, a reference or a sentence that a request gives. */
export function ShortText(description: string) {
  return Type.String({ minLength: 1, maxLength: 200, description });
}
/** The reference of a payment or a grant. */
export const Ref = ShortText(
  "a reference that names it permanently: the same one again changes nothing",
);
export const Name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: visibleText.source,
  description: "a name of 1 to 64 characters",
});

/** The role of a member in an organization. */
export const RoleName = Type.Unsafe<(typeof ROLES)[number]>(
  Type.String({ enum: [...ROLES], description: `one of ${ROLES.join(", ")}` }),
);
export type RoleName = Static<typeof RoleName>;

/** The body of every refusal of the console's API. */
export const ConsoleError = Type.Object({
  error: Type.Object({
    /** A canonical class of the gateway, or `signed_out`, `forbidden`, `gone`, `conflict`. */
    code: Type.String(),
    /** The problem, its place, and the next step. */
    message: Type.String(),
    field: Type.Optional(Type.String()),
  }),
  request_id: Type.String(),
});
export type ConsoleError = Static<typeof ConsoleError>;

export const CallFamily = oneOf("chat", "images", "videos", "decisions");
export type CallFamily = Static<typeof CallFamily>;

export const Balance = Type.Object({
  available_usd: Usd,
  settled_usd: Usd,
  /** Reserves of what is in flight now. */
  held_usd: Usd,
});
export type Balance = Static<typeof Balance>;

/** There when a replica served a part of the answer: its data is of this instant or younger. */
export const AsOf = { as_of: Type.Optional(Instant) };

export const Page = { next_cursor: nullable(Type.String()) };

/** True: also where it stops requests at once. Without it such a change is a 409 `confirm_needed`. */
export const Confirm = Type.Optional(
  Type.Boolean({ description: "true, to make it also where it stops requests at once" }),
);
