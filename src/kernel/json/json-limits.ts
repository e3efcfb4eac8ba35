export const JSON_DEPTH_MAX: number = 64;

export const JSON_KEYS_MAX: number = 50_000;

/** The most values and keys that a body's tape (see `JsonDocument`) may have; bounds its memory. */
export const JSON_VALUES_MAX = 250_000;

/** The most unknown names per object, and the most escaped or non-ASCII names per body. */
export const UNKNOWN_FIELDS_MAX = 1_000;

/** The most values and keys in a part of an answer that is passed on unparsed: 0.1 s to check. */
export const PASSED_VALUES_MAX = 1_200_000;

/**
 * A container nested deeper than this is checked, but a `JsonDocument` has it as a single value
 * without its content. The gateway reads nothing deeper than an image in a document in a tool
 * result, at depth 10.
 */
export const READ_DEPTH_MAX = 10;

/**
 * The most values and keys in texts that are parsed as a whole and share one `JsonBudget`, such as
 * the texts of a provider's answer. With `PARSED_KEYS_MAX` and `PARSED_STEPS_MAX`, parsing takes
 * about 0.1 s, and an answer of 1,600 tokens with twenty alternative tokens each still passes.
 */
export const PARSED_VALUES_MAX = 400_000;
/** The most keys in all texts of one `JsonBudget`. New names take the most time to parse. */
export const PARSED_KEYS_MAX = 120_000;
/**
 * The most characters outside strings, and the most backslashes before quotes inside strings, in
 * all texts of one `JsonBudget`. Functions that scan a text later look at each of these singly.
 */
export const PARSED_STEPS_MAX = 4_000_000;

export interface JsonFault {
  readonly fault: "syntax" | "depth" | "keys" | "values" | "encoding" | "forbidden_key";
  /** In bytes from the start of the body. */
  readonly offset: number;
  /** The dotted path of a forbidden key; absent for other faults. */
  readonly path?: string;
}

export function describeFault(fault: JsonFault): string {
  if (fault.fault === "forbidden_key") {
    return `${fault.path ?? "__proto__"} is not accepted as a field name; remove it`;
  }
  const [problem, advice] = FAULT_WORDS[fault.fault];
  return `the body ${problem} at byte ${fault.offset}; ${advice}`;
}

const FAULT_WORDS = {
  syntax: ["is not valid JSON", "send one JSON object"],
  depth: [`is nested deeper than ${JSON_DEPTH_MAX} levels`, "flatten it"],
  keys: [`has more than ${JSON_KEYS_MAX} keys`, "send fewer"],
  values: [`has more than ${JSON_VALUES_MAX} values`, "send fewer"],
  encoding: ["is not UTF-8", "encode it as UTF-8"],
} as const;
