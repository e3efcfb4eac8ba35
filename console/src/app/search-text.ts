/** The part of an address after `?`: only texts, never numbers or objects. */
export type Search = Readonly<Record<string, string>>;

/** Reads it; the first of two values with one name counts. */
export function readSearch(text: string): Search {
  const search: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text)) search[name] ??= value;
  return search;
}

/** Writes it, with its `?`; undefined and empty values are left out. */
export function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === "string" && value !== "") params.set(name, value);
  }
  return params.size === 0 ? "" : `?${params.toString()}`;
}
