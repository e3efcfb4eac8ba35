import { flag, integer, text } from "./setting.ts";

/** Parses `name=value,name=value` with percent-encoded values; undefined if a pair is malformed. */
export function readPairList(list: string): ReadonlyMap<string, string> | undefined {
  const pairs = new Map<string, string>();
  for (const part of list.split(",")) {
    if (part.trim() === "") continue;
    const at = part.indexOf("=");
    const name = decoded(part.slice(0, Math.max(at, 0)).trim());
    const value = decoded(part.slice(at + 1).trim());
    if (at === -1 || name === undefined || name === "" || value === undefined) return undefined;
    pairs.set(name, value);
  }
  return pairs;
}

/** Says what is wrong with a list, without quoting a value, which may be secret. */
export function pairListProblem(list: string): string | undefined {
  return readPairList(list) === undefined
    ? "must be name=value, separated by commas, with values percent-encoded"
    : undefined;
}

/** Like `pairListProblem`, but names and values must also be valid in an HTTP header. */
export function headerListProblem(list: string): string | undefined {
  const pairs = [...(readPairList(list) ?? [])];
  const isSendable = pairs.every(
    ([name, value]) => HEADER_NAME.test(name) && HEADER_VALUE.test(value),
  );
  return isSendable ? pairListProblem(list) : "has a name or value that no HTTP header can have";
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

function decoded(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

export const LISTING_SETTINGS = {
  listingsPublicFigures: flag("listings.public_figures", {
    doc:
      "Anybody may read how listings served all customers together: uptime, time to first token, speed " +
      "and success rate of whole days, rounded, each day only with 3 organizations and 200 calls, of " +
      "which no organization made more than half. Off: customers see the figures of their own calls.",
  }),
  staleAfterDays: integer("catalog.stale_after_days", 0, {
    min: 0,
    doc:
      "Listings whose prices no source confirmed for this many days (`checked` in their manifest) are not " +
      "sold. 0: they are, and after 90 days they are tried last.",
  }),
  refreshEvery: text("catalog.refresh_every", "", {
    doc:
      "How often the manifests are imported again from `catalog.refresh_sources`, such as `12h` or `1d`; " +
      "empty: never. Cuts begin at once; rises of up to 20 % are announced for 7 days, or begin at once " +
      "where customers would pay less than the provider is owed; the rest waits for the operator.",
    problem: (value) =>
      value === "" || refreshHours(value) !== undefined
        ? undefined
        : "must be empty, or hours or days such as 12h or 1d",
  }),
  refreshSources: text("catalog.refresh_sources", "", {
    doc:
      "`SOURCE=https address` pairs, separated by commas; the sources are litellm, models.dev, openrouter " +
      "and genai-prices. Two at least: a listing is ready when two agree. The last copy of each is kept " +
      "in the data folder and read when its address does not answer.",
    problem: (value) => {
      const pairs = readPairList(value);
      const isGood =
        pairs !== undefined &&
        [...pairs].every(([from, url]) => SOURCES.has(from) && url.startsWith("https://"));
      return isGood ? undefined : "must be SOURCE=https://… pairs, separated by commas";
    },
  }),
};

const SOURCES = new Set(["litellm", "models.dev", "openrouter", "genai-prices"]);

/** Parses an interval such as `12h` or `2d` into hours; undefined for anything else. */
export function refreshHours(every: string): number | undefined {
  const [, count = "", unit] = /^([1-9]\d{0,3})([hd])$/.exec(every) ?? [];
  return count === "" ? undefined : Number(count) * (unit === "d" ? 24 : 1);
}
