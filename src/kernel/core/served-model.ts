/** The model that a provider says it answered with. */
export interface ServedModel {
  /** As reported, without what cannot be seen, bounded. */
  readonly name: string;
  /** It is another model than the listing allows. */
  readonly isSubstituted: boolean;
}

/** The names that a listing's endpoint may report. */
export interface ModelNames {
  readonly upstreamModelId: string;
  readonly resolvesTo: readonly string[];
}

/** Longer than any id that a listing can declare. */
const NAME_CHARS_MAX = 200;

/** Undefined where the provider reported no name. */
export function readServedModel(names: ModelNames, reported: unknown): ServedModel | undefined {
  if (typeof reported !== "string") return undefined;
  const name = withoutInvisible(reported.slice(0, 2 * NAME_CHARS_MAX));
  if (name === "") return undefined;
  const isSubstituted = !isAllowed(names, name);
  return { name: isSubstituted ? withoutAddresses(name) : name, isSubstituted };
}

/**
 * The id that was asked for, a dated snapshot of it, or an id that the listing declares. Hosts
 * that choose a variant by a suffix of the id report it with and without.
 */
function isAllowed({ upstreamModelId, resolvesTo }: ModelNames, name: string): boolean {
  if (name === upstreamModelId || resolvesTo.includes(name)) return true;
  if (name === upstreamModelId.replace(/:[^:/]*$/, "")) return true;
  return name.startsWith(`${upstreamModelId}-`) && isDate(name.slice(upstreamModelId.length + 1));
}

function isDate(text: string): boolean {
  const digits = /^(\d{4})(-?)(\d{2})\2(\d{2})$/.exec(text);
  if (digits === null) return false;
  const iso = `${digits[1]}-${digits[3]}-${digits[4]}`;
  const atMs = Date.parse(`${iso}T00:00:00Z`);
  // A day that a month does not have is read as one of the next month.
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(iso);
}

function withoutInvisible(text: string): string {
  const seen = text.replaceAll(/\p{C}/gu, "").trim();
  return seen.slice(0, NAME_CHARS_MAX).replace(/[\uD800-\uDBFF]$/, "");
}

/** A resource name holds an account and a region, an address a host: neither is for customers. */
function withoutAddresses(name: string): string {
  return name.replaceAll(/\barn:\S+|\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, "[removed]");
}
