import { Type, type Static, type TProperties, type TSchema } from "typebox";

import type { ActionName } from "../../../kernel/changes/actions.ts";
import type { CapPeriod } from "../../../kernel/core/cap-period.ts";
import { type Need, ROLES } from "../../../kernel/core/roles.ts";
import { visibleText } from "../../../kernel/core/visible-text.ts";
import { Instant, nullable, oneOf, Usd } from "../../../kernel/json/schema-parts.ts";

export * from "../../../kernel/json/schema-parts.ts";

/** One route of the console's API: its callers, its input and its answer. */
export type RouteContract = RouteShape & (SessionAccess | OtherAccess);

/** An operation that exists only as a command of operators; its name is its usage. */
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
  /** The route changes a setting, and counts towards the organization's changes per minute. */
  readonly isSetting?: true;
  /** The gate of a slow route, which limits how many requests of an organization run at a time. */
  readonly gate?: "reads" | "checks" | "payments";
  /** The entries that the route may write to the change log; `[]` if it only sends or reads. */
  readonly changes?: readonly ActionName[];
  /** The command that does the same for operators; absent if only pages do it. */
  readonly command?: CommandFace;
  /** The body contains a file, and may be larger than others. */
  readonly takesFile?: true;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Undefined if the answer is a file, whose type `answerType` names. */
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
  /** Default: the summary of the route. */
  readonly summary?: string;
  /** Fields that a person types on a page as a confirmation; a command does not take them. */
  readonly typed?: readonly string[];
  /** Fields whose null is written as `none`. */
  readonly none?: readonly string[];
  /** A secret field, which is read from standard input or a variable and never from an argument. */
  readonly secret?: string;
  /** The command checks ids of models or providers against the manifests on its machine. */
  readonly readsCatalog?: true;
  /** A field whose text is the content of the file that the flag names. */
  readonly fromFile?: string;
  /** The columns of lists in text output, separated by blanks. Default: all. */
  readonly columns?: string;
  /** The list of the answer that `--csv` prints, with those columns. */
  readonly csv?: string;
  /** A field of the answer; if it is false or a non-empty list, the command exits with 1. */
  readonly verdict?: string;
}

/** Dollars that a person typed: at most six fraction digits, never negative. */
export const UsdInput = Type.String({
  pattern: "^[0-9]{1,9}(\\.[0-9]{1,6})?$",
  maxLength: 16,
  description:
    'a string of dollars that is not negative and has at most six decimals, like "12.50"',
});
/** A new cap; empty changes nothing. */
export function CapChange(period: CapPeriod) {
  const description = `a string of dollars per UTC ${period} like "12.50"; 0: no cap`;
  return Type.Union([UsdInput, Type.Literal("")], { description });
}

/** An object with these fields, and no others, in a request. */
export function Fields<P extends TProperties>(fields: P) {
  return Type.Object(fields, { additionalProperties: false });
}

export const Id = Type.String({ minLength: 1, maxLength: 200 });
export const Email = Type.String({ minLength: 3, maxLength: 320 });

/** An id, a reference or a sentence that a request gives. */
export function ShortText(description: string) {
  return Type.String({ minLength: 1, maxLength: 200, description });
}
export const Ref = ShortText(
  "a reference that names it permanently: the same one again changes nothing",
);
export const Name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: visibleText.source,
  description: "a name of 1 to 64 characters",
});

export const RoleName = Type.Unsafe<(typeof ROLES)[number]>(
  Type.String({ enum: [...ROLES], description: `one of ${ROLES.join(", ")}` }),
);
export type RoleName = Static<typeof RoleName>;

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
  /** Reserves of the requests in flight. */
  held_usd: Usd,
});
export type Balance = Static<typeof Balance>;

/** Present if a replica served a part of the answer, whose data is from this instant or later. */
export const AsOf = { as_of: Type.Optional(Instant) };

export const Page = { next_cursor: nullable(Type.String()) };

/** True allows a change that stops requests at once, which otherwise is a 409 `confirm_needed`. */
export const Confirm = Type.Optional(
  Type.Boolean({ description: "true, to make it also where it stops requests at once" }),
);
