import type { TSchema } from "typebox";

import { pathText, schemaCheck, type SchemaFault } from "../../kernel/index.ts";

export interface SchemaProblem {
  /** The field, such as `models[1]`; undefined for the request as a whole. */
  readonly field: string | undefined;
  readonly message: string;
}

/** Returns the first problem. In a query or path, texts of numbers become numbers in `value`. */
export type SchemaCheck = (value: unknown) => SchemaProblem | undefined;

/** Compiles the check of one part of a request; the check adds and drops no fields. */
export function compileCheck(schema: TSchema, part: "body" | "text"): SchemaCheck {
  const check = schemaCheck(schema, part === "body" ? WORDS : { ...WORDS, readsText: true });
  return (value) => {
    const fault = check(value);
    return fault === undefined ? unstorableIn(value) : toProblem(fault);
  };
}

const WORDS = { missing: "is missing", unknown: "is not a field of this route; remove it" };

/**
 * Finds a value that schemas accept but that cannot be stored: a text with U+0000, which PostgreSQL
 * rejects, or a number such as 1e999 in a query, which is read as infinite.
 */
function unstorableIn(value: unknown): SchemaProblem | undefined {
  const left = [{ field: "", value }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { field } = next;
    if (typeof next.value === "string" && next.value.includes("\0")) {
      return { field, message: `${field} must be text without U+0000` };
    }
    if (typeof next.value === "number" && !Number.isFinite(next.value)) {
      return { field, message: `${field} must be a smaller number` };
    }
    if (typeof next.value !== "object" || next.value === null) continue;
    for (const [name, part] of Object.entries(next.value)) {
      left.push({ field: field === "" ? name.slice(0, FIELD_CHARS_MAX) : field, value: part });
    }
  }
  return undefined;
}

function toProblem({ path, message }: SchemaFault): SchemaProblem {
  const field = path.length === 0 ? undefined : pathText(path).slice(0, FIELD_CHARS_MAX);
  return { field, message: `${field ?? "the request"} ${message}` };
}

const FIELD_CHARS_MAX = 80;
