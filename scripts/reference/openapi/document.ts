import { type DescribedDocument, describeFields } from "../describe-fields.ts";
import { CALL_SCHEMAS } from "./call-schemas.ts";
import { ERROR_SCHEMAS, HEADER_COMPONENTS, refusalComponents } from "./errors.ts";
import { FIELD_WORDS } from "./field-words.ts";
import { object, type Schema } from "./kit.ts";
import { OPERATIONS, operationObject } from "./operations.ts";
import { READ_SCHEMAS } from "./read-operations.ts";

/** Returns the gateway's OpenAPI 3.1 document. A gateway that serves it inserts its own address. */
export function gatewayDocument(): object {
  return describedGateway().document;
}

/** Returns the document, and the field descriptions that none of its fields uses. */
export function describedGateway(): DescribedDocument {
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const [method = "", path = ""] = name.split(" ");
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(name, operation) };
  }
  return describeFields(
    {
      openapi: "3.1.0",
      info: {
        title: "Token Market",
        version: "1",
        summary: "One key and one balance for many AI models.",
        description:
          "Every route takes a virtual key as `authorization: Bearer` or as `x-api-key`. Every error " +
          "names its class in `x-tm-error-code` and in its body; a refused request costs nothing.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "http://127.0.0.1:8080" }],
      security: [{ bearer: [] }, { key: [] }],
      tags: ["Chat", "Media", "Decisions", "Models", "Records"].map((name) => ({ name })),
      paths,
      components: {
        schemas: { ...CALL_SCHEMAS, AnyRequest: ANY_REQUEST, ...READ_SCHEMAS, ...ERROR_SCHEMAS },
        responses: refusalComponents(),
        headers: HEADER_COMPONENTS,
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer" },
          key: { type: "apiKey", in: "header", name: "x-api-key" },
        },
      },
    },
    FIELD_WORDS,
  );
}

const ANY_REQUEST: Schema = object({}, { description: "the body of the route that `for` names" });
