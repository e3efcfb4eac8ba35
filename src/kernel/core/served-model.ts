import { isDay } from "./time.ts";
import { takeStart } from "./visible-text.ts";

export interface ServedModel {
  /** The reported name without invisible characters; if substituted, also without URLs and ARNs. */
  readonly name: string;
  /** True if the listing does not allow this model, so the provider used another one. */
  readonly isSubstituted: boolean;
}

export interface ModelNames {
  readonly upstreamModelId: string;
  readonly resolvesTo: readonly string[];
}

/** Longer than any id that a listing can have, because a name that is cut counts as substituted. */
const NAME_CHARS_MAX = 200;

/** Reads the model that a provider reports; undefined if it reports no name. */
export function readServedModel(names: ModelNames, reported: unknown): ServedModel | undefined {
  if (typeof reported !== "string") return undefined;
  const name = withoutInvisible(reported.slice(0, 2 * NAME_CHARS_MAX));
  if (name === "") return undefined;
  const isSubstituted = !isAllowed(names, name);
  return { name: isSubstituted ? withoutAddresses(name) : name, isSubstituted };
}

/**
 * Allows the requested id, a dated snapshot of it, and declared ids. A provider may report the id
 * without a suffix (`:fast`) that chooses a variant.
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
  return takeStart(text.replaceAll(/\p{C}/gu, "").trim(), NAME_CHARS_MAX);
}

/** Removes URLs, and ARNs (they contain an account): customers must not see either. */
function withoutAddresses(name: string): string {
  return name.replaceAll(/\barn:\S+|\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, "[removed]");
}
