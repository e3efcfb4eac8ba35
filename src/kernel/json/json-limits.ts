import { unreachable } from "../core/assert.ts";

export const JSON_DEPTH_MAX: number = 64;

export const JSON_KEYS_MAX: number = 50_000;

/** Values and keys of one body that a tape may have: bounds the memory of a scan. */
export const JSON_VALUES_MAX = 250_000;

/** Unknown names in one object whose names are checked. Each costs far more time than a known key. */
export const UNKNOWN_FIELDS_MAX = 1_000;

/** Values and keys of a part that is passed on unread. So many are checked in less than 0.1 s. */
export const PASSED_VALUES_MAX = 1_200_000;

/**
 * Containers nested deeper than this are checked, but are one value on the tape. The gateway reads
 * nothing deeper: an image inside a document inside a tool result is at 10.
 */
export const READ_DEPTH_MAX = 10;

/**
 * Values of a text from outside that is parsed as a whole, such as a provider's answer. With the
 * next two bounds it limits parsing to about 0.1 s, and still allows an answer of 1,600 tokens with
 * twenty alternatives each.
 */
export const PARSED_VALUES_MAX = 400_000;
/** Keys of such a text. They cost most time, since each may be a new name. */
export const PARSED_KEYS_MAX = 120_000;
/** Characters outside strings, and escaped quotes inside them: every later pass stops at each. */
export const PARSED_STEPS_MAX = 4_000_000;

/** The reason why a scan refuses a body, and its place. */
export interface JsonFault {
  readonly fault: "syntax" | "depth" | "keys" | "values" | "encoding" | "forbidden_key";
  /** In bytes from the start of the body. */
  readonly offset: number;
  /** Path of the forbidden key. */
  readonly path?: string;
}

/** Describes a fault to the caller: the problem, its place and the next step. */
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
