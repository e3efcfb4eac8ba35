import { JSON_DEPTH_MAX, JSON_KEYS_MAX } from "../core/constants.ts";
import { unreachable } from "../core/assert.ts";
import { JSON_VALUES_MAX } from "./json-limits.ts";

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
