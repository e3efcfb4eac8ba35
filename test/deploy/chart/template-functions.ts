import { stringify } from "yaml";

/** A function of the template language; a fault is an Error, and the caller adds where. */
export type TemplateFunction = (...args: readonly unknown[]) => unknown;

/** A map of the values, of the release or of a file of them. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The functions that the chart may use, as Helm has them (`include` is the renderer's own). Whole numbers
 * are bigints, as Go's int64; numbers of values are Go's float64 and printed only where both agree.
 */
export const TEMPLATE_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  add: (...numbers) => numbers.reduce((sum: bigint, each) => sum + wholeOf(each), 0n),
  and: (...values) => values.slice(0, -1).every(isTrue) && values.at(-1),
  base: (path) => textOf(path).split("/").at(-1),
  contains: (part, text) => textOf(text).includes(textOf(part)),
  default: (fallback, value) => (isTrue(value) ? value : fallback),
  fail: (message) => {
    throw new Error(textOf(message));
  },
  int: wholeOf,
  mul: (...numbers) => numbers.reduce((product: bigint, each) => product * wholeOf(each), 1n),
  nindent: (count, text) => {
    const pad = " ".repeat(Number(wholeOf(count)));
    return `\n${pad}${textOf(text).replaceAll("\n", `\n${pad}`)}`;
  },
  not: (value) => !isTrue(value),
  printf: (form, ...values) => {
    const left = [...values];
    if (/%[^s]/.test(textOf(form))) throw new Error("printf knows %s only");
    const filled = textOf(form).replaceAll("%s", () => textOf(left.shift()));
    if (left.length > 0) throw new Error("printf has more values than places");
    return filled;
  },
  quote: (value) => JSON.stringify(printed(value)),
  replace: (from, to, text) => textOf(text).replaceAll(textOf(from), textOf(to)),
  required: (message, value) => {
    if (value === undefined || value === null || value === "") throw new Error(textOf(message));
    return value;
  },
  toYaml: (value) => stringify(value, { sortMapEntries: true }).replace(/\n$/, ""),
  trimSuffix: (suffix, text) => {
    const whole = textOf(text);
    const end = textOf(suffix);
    return whole.endsWith(end) ? whole.slice(0, whole.length - end.length) : whole;
  },
  trunc: (length, text) => textOf(text).slice(0, Number(wholeOf(length))),
};

/** What Go's templates take for true. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isFields(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** How a value is written into the text. */
export function printed(value: unknown): string {
  if (typeof value === "string" || typeof value === "bigint") return String(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1_000_000) {
    return String(value);
  }
  if (typeof value === "number") throw new Error(`${value} would be printed as a float: use int`);
  throw new Error(value === undefined ? "there is no such value" : "a map or list is printed");
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new Error(`a text is needed, not ${String(value)}`);
  return value;
}

function wholeOf(value: unknown): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  throw new Error(`a whole number is needed, not ${String(value)}`);
}
