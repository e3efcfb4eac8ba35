import { Ajv, type ValidateFunction } from "ajv";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import {
  ConsoleError,
  type RouteContract,
} from "../../../src/account/console-api/contract/shared.ts";

const ajv = new Ajv({ strict: false, allErrors: true }).addFormat("date-time", (text) =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(text),
);

interface KnownRoute {
  readonly pattern: RegExp;
  /** Compiles the schema on first use, because compiling all schemas takes each worker a second. */
  answer(): ValidateFunction | undefined;
}

const known = Object.entries(ROUTES).map(
  ([name, contract]: [string, RouteContract]): KnownRoute => {
    const pattern = new RegExp(`^${name.replaceAll(/:\w+/g, "[^/]+").replaceAll(".", "\\.")}$`);
    let compiled: ValidateFunction | undefined;
    const answer = (): ValidateFunction | undefined => {
      if (contract.answer !== undefined) compiled ??= compile(contract.answer);
      return compiled;
    };
    return { pattern, answer };
  },
);
const refusal = compile(ConsoleError);

/**
 * Compares an answer with the contract of its route: all fields must exist in the right format, and
 * no others may exist. Returns the differences, if any.
 */
export function brokenPromises(route: string, status: number, body: unknown): readonly string[] {
  const [name = ""] = route.split("?", 1);
  const promised = known.find(({ pattern }) => pattern.test(name));
  const check = status >= 400 ? refusal : promised?.answer();
  if (promised === undefined || check === undefined || check(body)) return [];
  return (check.errors ?? []).map(({ instancePath, message, params }) =>
    [name, instancePath, message, JSON.stringify(params)].join(" "),
  );
}

function compile(schema: object): ValidateFunction {
  return ajv.compile(closed(schema) as object);
}

/** The schema, with no additional properties allowed in any of its objects. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, closed(value)]),
  );
  return "properties" in schema ? { ...inner, additionalProperties: false } : inner;
}
