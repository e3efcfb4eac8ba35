import { isDay } from "./time.ts";

/** The model that a provider claims to have answered with. */
export interface ServedModel {
  /** The reported name, cut to 200 characters, without invisible characters and addresses. */
  readonly name: string;
  /** True if the listing does not allow this model. */
  readonly isSubstituted: boolean;
}

/** The names that a listing's endpoint may report. */
export interface ModelNames {
  readonly upstreamModelId: string;
  readonly resolvesTo: readonly string[];
}

/** Longer than any id that a listing can have. */
const NAME_CHARS_MAX = 200;

/** Reads the reported model; undefined if the provider reported no name. */
export function readServedModel(names: ModelNames, reported: unknown): ServedModel | undefined {
  if (typeof reported !== "string") return undefined;
  const name = withoutInvisible(reported.slice(0, 2 * NAME_CHARS_MAX));
  if (name === "") return undefined;
  const isSubstituted = !isAllowed(names, name);
  return { name: isSubstituted ? withoutAddresses(name) : name, isSubstituted };
}

/**
 * Allows the requested id, a dated snapshot of it, and the ids that the listing declares. Hosts
 * that choose a variant by a suffix (`:fast`) report the id with or without it.
 */
function isAllowed({ upstreamModelId, resolvesTo }: ModelNames, name: string): boolean {
  if (name === upstreamModelId || resolvesTo.includes(name)) return true;
  if (name === upstreamModelId.replace(/:[^:/]*$/, "")) return true;
  return name.startsWith(`${upstreamModelId}-`) && isDate(name.slice(upstreamModelId.length + 1));
}

function isDate(text: string): boolean {
  const [, year, , month, day] = /^(\d{4})(-?)(\d{2})\2(\d{2})$/.exec(text) ?? [];
  return isDay(`${year}-${month}-${day}`);
}

function withoutInvisible(text: string): string {
  const seen = text.replaceAll(/\p{C}/gu, "").trim();
  return seen.slice(0, NAME_CHARS_MAX).replace(/[\uD800-\uDBFF]$/, "");
}

/** Removes resource names, which contain an account, and addresses: customers must not see either. */
function withoutAddresses(name: string): string {
  return name.replaceAll(/\barn:\S+|\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, "[removed]");
}
