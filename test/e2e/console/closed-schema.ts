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
  /** Compiled when it is first asked for: that of all routes takes a second in every worker. */
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
 * Compares an answer with its contract: every field exists in the right format, and there is no
 * other. Returns the differences, if any.
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

/** The schema with nothing else allowed in any object of it. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, closed(value)]),
  );
  return "properties" in schema ? { ...inner, additionalProperties: false } : inner;
}
