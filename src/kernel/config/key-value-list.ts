/** Reads `name=value,name=value`, values percent-encoded; undefined where it has another form. */
export function readPairList(text: string): ReadonlyMap<string, string> | undefined {
  const pairs = new Map<string, string>();
  for (const part of text.split(",")) {
    if (part.trim() === "") continue;
    const at = part.indexOf("=");
    const name = decoded(part.slice(0, Math.max(at, 0)).trim());
    const value = decoded(part.slice(at + 1).trim());
    if (at === -1 || name === undefined || name === "" || value === undefined) return undefined;
    pairs.set(name, value);
  }
  return pairs;
}

/**
 * Why a text is not a list of names and values; undefined if it is one. The message never contains
 * a value.
 */
export function pairListProblem(text: string): string | undefined {
  return readPairList(text) === undefined
    ? "must be name=value, separated by commas, with values percent-encoded"
    : undefined;
}

/** The problem of a list of headers, whose names and values must also be valid in HTTP. */
export function headerListProblem(text: string): string | undefined {
  const pairs = [...(readPairList(text) ?? [])];
  const isSendable = pairs.every(
    ([name, value]) => HEADER_NAME.test(name) && HEADER_VALUE.test(value),
  );
  return isSendable ? pairListProblem(text) : "has a name or value that no HTTP header can have";
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
