import { ROLES, ROLE_WORDS } from "../core/roles.ts";

/** Field values of a change: dollars as decimal strings, instants as ISO 8601, no key or token. */
export type Facts = Readonly<
  Record<string, string | number | boolean | null | readonly string[] | undefined>
>;

/** Turns the facts of a change into parts of a sentence for people, without field names or ids. */
export class Told {
  readonly #before: Facts;
  readonly #after: Facts;
  readonly #name: string | null;

  /** `name` is the name of the changed thing; null if it never had one or it is not stored. */
  constructor(before: Facts | null, after: Facts | null, name: string | null) {
    this.#before = before ?? {};
    this.#after = after ?? {};
    this.#name = name;
  }

  /** Returns `the key “production”`, or `a key` if no name is known. */
  thing(kind: string): string {
    const known = this.#name ?? this.#text("name");
    return known === undefined ? `a ${kind}` : `the ${kind} “${known}”`;
  }

  person(otherwise: string): string {
    return this.#name ?? this.#text("email") ?? otherwise;
  }

  /** Returns for example ` to “ci”`; "" if the fact was not recorded. */
  with(before: string, fact: string, show: (text: string) => string = quoted): string {
    const text = this.#text(fact);
    return text === undefined ? "" : ` ${before} ${show(text)}`;
  }

  /** Returns ` from $5.00 to $10.00` or ` to $10.00`; "" if the fact was not recorded. */
  move(fact: string, show: (text: string) => string = plain, none = "none"): string {
    const [was, is] = [toText(this.#before[fact]), toText(this.#after[fact])];
    if (!(fact in this.#after)) return "";
    const to = ` to ${is === undefined ? none : show(is)}`;
    return was === undefined ? to : ` from ${show(was)}${to}`;
  }

  /** Lists the numbers that changed, for example ` to 60 requests per minute`. */
  values(names: Readonly<Record<string, string>>): string {
    const changed = Object.entries(names).flatMap(([fact, words]) => {
      const is = toText(this.#after[fact]);
      if (!(fact in this.#after) || toText(this.#before[fact]) === is) return [];
      return [is === undefined ? `no limit on ${words}` : `${count(is)} ${words}`];
    });
    return changed.length === 0 ? "" : ` to ${changed.join(", ")}`;
  }

  /** Returns the value after the change: null if removed, undefined if it was not recorded. */
  now(fact: string): Facts[string] {
    return this.#after[fact];
  }

  was(fact: string): Facts[string] {
    return this.#before[fact];
  }

  get isRemoved(): boolean {
    return Object.keys(this.#after).length === 0 && Object.keys(this.#before).length > 0;
  }

  get isNew(): boolean {
    return Object.keys(this.#before).length === 0;
  }

  #text(fact: string): string | undefined {
    return toText(this.#after[fact]) ?? toText(this.#before[fact]);
  }
}

function toText(value: Facts[string]): string | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.join(", ");
  return String(value);
}

export function plain(text: string): string {
  return text;
}

export function quoted(text: string): string {
  return `“${text}”`;
}

/**
 * Formats dollars for a sentence. Digits below the cent are cut off, because a balance must not
 * look larger than it is; only an amount below a cent keeps them.
 */
export function dollars(amount: string): string {
  const [, sign = "", whole = "0", cents = "00", rest = ""] =
    /^(-?)(\d+)(?:\.(\d\d)(\d*))?$/.exec(amount) ?? [];
  const grouped = BigInt(whole).toLocaleString("en-US");
  const isSmall = whole === "0" && cents === "00" && /[1-9]/.test(rest);
  return `${sign}$${grouped}.${cents}${isSmall ? rest.replace(/0+$/, "") : ""}`;
}

export function roleName(role: string): string {
  const known = ROLES.find((each) => each === role);
  return known === undefined ? role : ROLE_WORDS[known].name;
}

/** Formats an instant as `31 January 2027, 09:00 (UTC)`. */
export function dayAndHour(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : `${CLOCK.format(date)} (UTC)`;
}
const CLOCK = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "long",
  timeStyle: "short",
  timeZone: "UTC",
});

function count(text: string): string {
  return /^\d+$/.test(text) ? Number(text).toLocaleString("en-US") : text;
}
