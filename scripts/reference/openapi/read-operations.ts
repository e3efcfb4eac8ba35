import type { TSchema } from "typebox";

import { routeAnswer } from "../../../src/gateway/call/route-contract.ts";
import type { ReadRoute } from "../../../src/kernel/json/read-route.ts";
import { NAMED_SCHEMAS } from "../../../src/gateway/records/contract/routes.ts";
import { ref, type Schema } from "./kit.ts";

/** A route as the document describes it. */
export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tag: "Chat" | "Media" | "Decisions" | "Models" | "Records";
  /** It sends to a provider, or only reads. */
  readonly kind: "call" | "read";
  /** The name of a schema, or a schema. */
  readonly body?: string | Schema;
  /** A body that the route serves, for readers to try. */
  readonly example?: object;
  /** A smaller bound of the body. */
  readonly isSmall?: boolean;
  /** The same, by media type. */
  readonly answers: Readonly<Record<string, string | Schema>>;
  readonly parameters?: readonly object[];
  readonly errors?: "Error" | "MessagesError";
}

export const JSON_TYPE = "application/json";

const SCHEMAS: Readonly<Record<string, TSchema>> = { ...NAMED_SCHEMAS, Route: routeAnswer.schema };
const NAMES = new Map<unknown, string>(
  Object.entries(SCHEMAS).map(([name, schema]) => [schema, name]),
);

/** The named schemas of the routes that read. */
export const READ_SCHEMAS = Object.fromEntries(
  Object.entries(SCHEMAS).map(([name, schema]) => [name, publish(schema)]),
);

/** A route that reads, made from the schemas that it is checked by. */
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

/** Of `POST /v1/route?for=` and `GET /v1/generation?id=`: the other parameters may be left out. */
function exampleOf(name: string): string {
  return name === "for" ? "chat" : "$REQUEST_ID";
}

/** Without what only the check reads, and with those that have a name by their name. */
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

/** A nullable value gets two types, so that its fields are where readers look for them. */
function withoutChoice(value: unknown): unknown {
  const { anyOf, ...more } = Object(value) as { readonly anyOf?: readonly Schema[] };
  const [one, other] = anyOf ?? [];
  const isPlain = typeof one?.["type"] === "string" && !("enum" in one) && !NAMES.has(one);
  if (!isPlain || other?.["type"] !== "null") return value;
  return { ...one, ...more, type: [one["type"], "null"] };
}
