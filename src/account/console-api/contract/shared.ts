import { Type, type Static, type TObject, type TProperties, type TSchema } from "typebox";

import type { ActionName } from "../../../kernel/changes/actions.ts";
import type { CapPeriod } from "../../../kernel/core/cap-period.ts";
import { type Need, ROLES } from "../../../kernel/core/roles.ts";
import { visibleText } from "../../../kernel/core/visible-text.ts";
import { Instant, nullable, oneOf, Usd } from "../../../kernel/json/schema-parts.ts";

export * from "../../../kernel/json/schema-parts.ts";

export type RouteContract = RouteShape & (SessionAccess | OtherAccess);

/** An operation that exists only as a command for operators; its name is the command's usage. */
export interface CommandContract extends Omit<RouteShape, "command" | "isSetting" | "takesFile"> {
  readonly needs?: never;
  readonly command?: Omit<CommandFace, "usage">;
}

/** Requires a session with a verified e-mail, of a member whose role has this right. */
interface SessionAccess {
  readonly access?: never;
  readonly needs: Need;
}

/**
 * `public`: without a session; `operator`: for the persons of the setting `operators` only, and for
 * everyone else the path does not exist.
 */
interface OtherAccess {
  readonly access: "public" | "operator";
  readonly needs?: never;
}

interface RouteShape {
  readonly summary: string;
  /** The route changes a setting, and counts as one of the organization's changes per minute. */
  readonly isSetting?: true;
  /**
   * The gate limits how many requests of an organization run at a time. Default: `settings` for
   * those, else `rest`, of an account. `none`: the handler takes a turn for what is not cached.
   */
  readonly gate?: "reads" | "checks" | "mails" | "payments" | "none";
  /** The entries that the route may write to the change log; `[]` if it only sends or reads. */
  readonly changes?: readonly ActionName[];
  readonly command?: CommandFace;
  readonly takesFile?: true;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Absent if the answer is a file of the type `answerType`. */
  readonly answer?: TSchema;
  readonly answerType?:
    "text/csv" | "application/json" | "application/x-ndjson" | "application/pdf";
}

/**
 * A route that is also a command. The command's flags are the fields of the query and the
 * body, with the same descriptions; it acts for the organization of `--org` or of its argument.
 */
export interface CommandFace {
  /** Such as `key show <key_id>`. An argument names a field of the path or body, or `org_id`. */
  readonly usage: string;
  /** Default: the summary of the route. */
  readonly summary?: string;
  /** Fields that a person types on a page as a confirmation; the command has no such flags. */
  readonly typed?: readonly string[];
  /** Fields for which a person writes `none` for null. */
  readonly none?: readonly string[];
  /** A secret field, which the command reads from standard input or a variable only. */
  readonly secret?: string;
  /** The command checks ids of models or providers against the manifests on its machine. */
  readonly readsCatalog?: true;
  /** A field that gets the content of the file that the flag names. */
  readonly fromFile?: string;
  /** The columns of lists in text output, separated by blanks. Default: all. */
  readonly columns?: string;
  /** The list in the answer that `--csv` prints, with the columns of `columns`. */
  readonly csv?: string;
  /** A field of the answer; if it is false or a non-empty list, the command exits with 1. */
  readonly verdict?: string;
}

/** Options of routes that read reports. The gate limits how many an organization runs at a time. */
export const reads = { needs: "read", gate: "reads" } as const;
export const operatorReads = { access: "operator", gate: "reads" } as const;
export const operatorSetting = { access: "operator", isSetting: true } as const;

export function setting<const N extends Need>(needs: N) {
  return { needs, isSetting: true } as const;
}

export const UsdInput = Type.String({
  pattern: "^[0-9]{1,9}(\\.[0-9]{1,6})?$",
  maxLength: 16,
  description:
    'a string of dollars that is not negative and has at most six decimals, like "12.50"',
});
/** A new cap; the empty string changes nothing. */
export function CapChange(period: CapPeriod) {
  const description = `a string of dollars per UTC ${period} like "12.50"; 0: no cap`;
  return Type.Union([UsdInput, Type.Literal("")], { description });
}

export function Fields<P extends TProperties>(fields: P) {
  return Type.Object(fields, { additionalProperties: false });
}

export const Id = Type.String({ minLength: 1, maxLength: 200 });
export const Email = Type.String({ minLength: 3, maxLength: 320 });

const Month = Type.String({
  pattern: "^20[0-9]{2}-(0[1-9]|1[0-2])$",
  description: "a month like 2026-11",
});

/** The path placeholders that are not ids. */
const PLACEHOLDERS = { month: Month, period_start: Instant } as const;

type NamesIn<N> = N extends `${string}:${infer P}/${infer Rest}`
  ? P | NamesIn<Rest>
  : N extends `${string}:${infer P}`
    ? P
    : never;
type ParamsIn<N> = TObject<{
  [P in NamesIn<N>]: P extends keyof typeof PLACEHOLDERS ? (typeof PLACEHOLDERS)[P] : typeof Id;
}>;
type WithParams<T> = {
  readonly [N in keyof T]: [NamesIn<N>] extends [never]
    ? T[N]
    : T[N] & { readonly params: ParamsIn<N> };
};

/** Adds the parameters of each route: the placeholders of its path. */
export function withParams<T extends object>(routes: T): WithParams<T> {
  const schemas: Readonly<Record<string, TSchema>> = PLACEHOLDERS;
  const whole = Object.entries(routes).map(([name, route]: [string, object]) => {
    const names = [...name.matchAll(/:(\w+)/g)].map(([, found = ""]) => found);
    const params = Object.fromEntries(names.map((each) => [each, schemas[each] ?? Id]));
    return [name, names.length === 0 ? route : { ...route, params: Type.Object(params) }];
  });
  return Object.fromEntries(whole) as WithParams<T>;
}

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

/** Adds a description to a schema; a command's flag gets it too. */
export function described<S extends TSchema>(schema: S, description: string) {
  return Type.Unsafe<Static<S>>({ ...schema, description });
}

export const RoleName = described(oneOf(...ROLES), `one of ${ROLES.join(", ")}`);

export const ConsoleError = Type.Object({
  error: Type.Object({
    /** An error class of the gateway, or a code that only the console has, such as `signed_out`. */
    code: Type.String(),
    message: Type.String(),
    field: Type.Optional(Type.String()),
  }),
  request_id: Type.String(),
});
export type ConsoleError = Static<typeof ConsoleError>;

export const CallFamily = oneOf("chat", "images", "videos", "decisions");

export const Balance = Type.Object({
  available_usd: Usd,
  settled_usd: Usd,
  held_usd: Usd,
});
export type Balance = Static<typeof Balance>;

/** Present if a replica served a part of the answer; that part is as of this instant or later. */
export const AsOf = { as_of: Type.Optional(Instant) };

export const Page = { next_cursor: nullable(Type.String()) };

/** Unless this is true, a cap that is already used up is refused: 409 `confirm_needed`. */
export const Confirm = Type.Optional(
  Type.Boolean({ description: "true, to make it also where it stops requests at once" }),
);
