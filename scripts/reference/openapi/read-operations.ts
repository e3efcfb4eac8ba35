import type { TSchema } from "typebox";

import { routeAnswer } from "../../../src/gateway/call/route-contract.ts";
import type { ReadRoute } from "../../../src/kernel/json/read-route.ts";
import { NAMED_SCHEMAS } from "../../../src/gateway/records/contract/routes.ts";
import { ref, type Schema } from "./kit.ts";

export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tag: "Chat" | "Media" | "Decisions" | "Models" | "Records";
  /** `call`: the route sends to a provider. `read`: it only reads. */
  readonly kind: "call" | "read";
  /** The name of a schema, or a schema. */
  readonly body?: string | Schema;
  /** A body that readers can try. */
  readonly example?: object;
  /** True if the body of a request has a smaller limit than on other routes. */
  readonly isSmall?: boolean;
  /** By media type: the name of a schema, or a schema. */
  readonly answers: Readonly<Record<string, string | Schema>>;
  readonly parameters?: readonly object[];
  readonly errors?: "Error" | "MessagesError";
}

export const JSON_TYPE = "application/json";

const SCHEMAS: Readonly<Record<string, TSchema>> = { ...NAMED_SCHEMAS, Route: routeAnswer.schema };
const NAMES = new Map<unknown, string>(
  Object.entries(SCHEMAS).map(([name, schema]) => [schema, name]),
);

export const READ_SCHEMAS = Object.fromEntries(
  Object.entries(SCHEMAS).map(([name, schema]) => [name, publish(schema)]),
);

/** Describes a route that only reads, from the schemas with which it checks requests. */
export function readOperation(route: ReadRoute, more: readonly object[] = []): Operation {
  const { summary, description, tag, query, body, answer, hasFile } = route;
  const parameters = [...(query === undefined ? [] : listParameters(query)), ...more];
  const json = { [JSON_TYPE]: findName(answer) ?? publish(answer) };
  return {
    summary,
    ...(description === undefined ? {} : { description }),
    tag,
    kind: "read",
    ...(body === undefined ? {} : { body: findName(body) ?? publish(body) }),
    answers: hasFile === true ? { ...json, "text/csv": { type: "string" } } : json,
    ...(parameters.length === 0 ? {} : { parameters }),
  };
}

export function toSchema(schema: string | Schema): Schema {
  return typeof schema === "string" ? ref(schema) : schema;
}

function findName(schema: TSchema): string | undefined {
  return NAMES.get(schema);
}

function listParameters(query: TSchema): readonly object[] {
  const { properties, required = [] } = publish(query) as {
    readonly properties: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    description,
    schema,
    ...(required.includes(name) ? { example: exampleOf(name) } : {}),
  }));
}

/**
 * Returns an example for a required parameter: `for` of `POST /v1/route`, or the request id of `GET
 * /v1/generation`. All other parameters are optional and need none.
 */
function exampleOf(name: string): string {
  return name === "for" ? "chat" : "$REQUEST_ID";
}

/** Returns the schema without our validator's own keywords, with references to named schemas. */
function publish(schema: TSchema): Schema {
  const text = JSON.stringify(schema, (key, value: unknown) => {
    if (typeof value === "string" && isOfCheck(key, value)) return undefined;
    const name = value === schema ? undefined : NAMES.get(value);
    return name === undefined ? withoutChoice(value) : ref(name);
  });
  return JSON.parse(text) as Schema;
}

function isOfCheck(key: string, value: string): boolean {
  return key === "says" || (key === "format" && value !== "date-time");
}

/** Gives a nullable schema two types instead of `anyOf`, so that its fields are not nested. */
function withoutChoice(value: unknown): unknown {
  const { anyOf, ...more } = Object(value) as { readonly anyOf?: readonly Schema[] };
  const [one, other] = anyOf ?? [];
  const isPlain = typeof one?.["type"] === "string" && !("enum" in one) && !NAMES.has(one);
  if (!isPlain || other?.["type"] !== "null") return value;
  return { ...one, ...more, type: [one["type"], "null"] };
}
