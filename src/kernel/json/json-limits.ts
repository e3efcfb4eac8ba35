import { unreachable } from "../core/assert.ts";

export const JSON_DEPTH_MAX: number = 64;

export const JSON_KEYS_MAX: number = 50_000;

/** Values of one body, keys included, that are kept for reading: bounds the memory of a scan. */
export const JSON_VALUES_MAX = 250_000;

/** Unknown names in one object whose names are checked: each costs far more than other keys. */
export const UNKNOWN_FIELDS_MAX = 1_000;

/** Values, keys included, of a part that is passed on unread: checked in less than a tenth of a second. */
export const PASSED_VALUES_MAX = 1_200_000;

/**
 * Containers nested deeper than this are checked but kept as one value: nothing the gateway reads
 * is deeper (an image inside a document inside a tool result is at 10).
 */
export const READ_DEPTH_MAX = 10;

/**
 * Bounds of outside text that is parsed as a whole: what a provider answers, what a console sends.
 * An answer at every bound is parsed in about a tenth of a second; one of 1,600 tokens with twenty
 * alternatives each is within them.
 */
export const PARSED_VALUES_MAX = 400_000;
/** Keys cost most: each may be a word never seen before. */
export const PARSED_KEYS_MAX = 120_000;
/** Characters outside of strings, and escaped quotes inside: every later walk stops at each. */
export const PARSED_STEPS_MAX = 4_000_000;

/** Why bytes were not taken as JSON, and where. */
export interface JsonFault {
  readonly fault: "syntax" | "depth" | "keys" | "values" | "encoding" | "forbidden_key";
  /** Byte offset into the body. */
  readonly offset: number;
  /** Path of the forbidden key. */
  readonly path?: string;
}

/** One sentence for the caller: what is wrong, where, and the next step. */
export function describeFault(fault: JsonFault): string {
  const where = `at byte ${fault.offset}`;
  switch (fault.fault) {
    case "syntax":
      return `the body is not valid JSON ${where}; send one JSON object`;
    case "depth":
      return `the body is nested deeper than ${JSON_DEPTH_MAX} levels ${where}; flatten it`;
    case "keys":
      return `the body has more than ${JSON_KEYS_MAX} keys ${where}; send fewer`;
    case "values":
      return `the body has more than ${JSON_VALUES_MAX} values ${where}; send fewer`;
    case "encoding":
      return `the body is not UTF-8 ${where}; encode it as UTF-8`;
    case "forbidden_key":
      return `${fault.path ?? "__proto__"} is not accepted as a field name; remove it`;
    default:
      return unreachable(fault.fault);
  }
}
