import type { TSchema } from "typebox";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import {
  ConsoleError,
  type RouteContract,
} from "../../../src/account/console-api/contract/shared.ts";
import { rolesWith } from "../../../src/kernel/core/roles.ts";
import { type DescribedDocument, describeFields } from "../describe-fields.ts";
import { FIELD_WORDS } from "./field-words.ts";

/** Returns the console's OpenAPI 3.1 document. A console that serves it inserts its own address. */
export function consoleDocument(): object {
  return describedConsole().document;
}

/** Returns the document, and the field descriptions that none of its fields uses. */
export function describedConsole(): DescribedDocument {
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, contract] of Object.entries(ROUTES) as [string, RouteContract][]) {
    // Anybody may read the document, so routes for operators are left out.
    if (contract.access === "operator") continue;
    const [method = "", path = ""] = name.split(" ");
    const shown = path.replaceAll(/:(\w+)/g, "{$1}");
    paths[shown] = { ...paths[shown], [method.toLowerCase()]: operation(name, contract) };
  }
  const published = publish({
    openapi: "3.1.0",
    info: {
      title: "Token Market console",
      version: "1",
      description: DESCRIPTION,
    },
    servers: [{ url: "http://127.0.0.1:8081" }],
    paths,
    components: {
      schemas: { ConsoleError },
      securitySchemes: {
        session: { type: "apiKey", in: "cookie", name: "__Host-tm_session" },
      },
    },
  });
  return describeFields(published, FIELD_WORDS);
}

/** Removes the keyword `says`, which holds our own schema check's messages for refused values. */
function publish(document: object): object {
  const text = JSON.stringify(document, (key, value: unknown) =>
    key === "says" && typeof value === "string" ? undefined : value,
  );
  return JSON.parse(text) as object;
}

const DESCRIPTION =
  "Dollars are decimal strings, exact to the micro-dollar; instants are UTC. Every unsafe method " +
  "needs content-type application/json and comes from the console's own origin: browsers say so in " +
  "sec-fetch-site, programs send `origin`. Under /playground/v1/ are the gateway's routes, with " +
  "the session instead of a key. `x-roles` names the roles of members that may call a route; others " +
  "get 403 `forbidden`.";

function operation(name: string, contract: RouteContract): object {
  const { summary, access, needs, body, answer, answerType } = contract;
  const content = { [answerType ?? "application/json"]: { schema: answer ?? { type: "string" } } };
  return {
    operationId: operationId(name),
    summary,
    security: access === "public" ? [] : [{ session: [] }],
    ...(needs === undefined ? {} : { "x-roles": rolesWith(needs) }),
    parameters: [
      ...listParameters(contract.params, "path"),
      ...listParameters(contract.query, "query"),
      ...(needs === undefined || answerType === undefined ? [] : [LINKED_ORG]),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: {
      "200": { description: "Done", content },
      default: {
        description: "Refused",
        content: {
          "application/json": { schema: { $ref: "#/components/schemas/ConsoleError" } },
        },
      },
    },
  };
}

const LINKED_ORG = {
  name: "org",
  in: "query",
  required: false,
  description:
    "ID of the organization that the file must belong to; otherwise the answer is 409 `other_organization`",
  schema: { type: "string" },
};

function operationId(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_");
}

function listParameters(schema: TSchema | undefined, place: "path" | "query"): object[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schema as unknown as {
    readonly properties?: Readonly<Record<string, TSchema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, value]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: value,
  }));
}
