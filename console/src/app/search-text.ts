export type Search = Readonly<Record<string, string>>;
export type Change = Readonly<Record<string, string | undefined>>;

/** Parses the query string of a URL; if a name is repeated, its first value is used. */
export function readSearch(text: string): Search {
  const search: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text)) search[name] ??= value;
  return search;
}

/** Writes the query with its `?`; leaves out empty values and values that are not strings. */
export function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === "string" && value !== "") params.set(name, value);
  }
  return params.size === 0 ? "" : `?${params.toString()}`;
}

/** Changes a query. A filter leads to the first page of every list; a list's page only there. */
export function changeSearch(before: Change, wanted: Change): Search {
  const isOfList = Object.keys(wanted).some((name) => PAGE.test(name));
  const kept = Object.entries(before).filter(([name]) => isOfList || !PAGE.test(name));
  const after = Object.entries({ ...Object.fromEntries(kept), ...wanted });
  return Object.fromEntries(
    after.filter((each): each is [string, string] => each[1] !== undefined && each[1] !== ""),
  );
}

/** Matches parameters that name a page of a list: `page`, with the list's prefix, or `cursor`. */
const PAGE = /(?:page|cursor)$/;
