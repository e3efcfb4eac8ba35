import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";

import { describedGateway } from "../scripts/reference/openapi/document.ts";
import { REFUSALS } from "../src/kernel/core/refusals.ts";
import { gatewayRoutes } from "../src/gateway/http/gateway-routes.ts";
import { HEADERS } from "../src/gateway/http/response-headers.ts";
import { listUndescribed } from "./support/openapi.ts";

const text = readFileSync(join(import.meta.dirname, "../schema/openapi-v1.json"), "utf8");
const document = JSON.parse(text) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly headers: object };
};
interface Operation {
  readonly responses: object;
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

test("the OpenAPI document of the gateway is valid OpenAPI 3.1", async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
});

test("the OpenAPI document has every route of the gateway, and no other", () => {
  const current = { clock: undefined };
  const records = { records: {}, videos: {} };
  const { routes } = gatewayRoutes({ current } as never, records as never);
  const names = routes.map(({ method, path }) => `${method} ${path}`);
  expect(operations.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
});

test("the OpenAPI document has every header and class of refusal of the gateway", () => {
  const headers = Object.values(HEADERS).map(({ name }) => name);
  expect(Object.keys(document.components.headers)).toEqual(headers);
  for (const name of Object.keys(REFUSALS)) expect(text).toContain(`\\n- \`${name}\`:`.slice(2));
});

test("every route documents the statuses 200, 400, 401, 403, 404, 413, 429, 500 and 503", () => {
  for (const { name, operation } of operations) {
    const statuses = Object.keys(operation.responses);
    const wanted = ["200", "400", "401", "403", "404", "413", "429", "500", "503"];
    expect(statuses, name).toEqual(expect.arrayContaining(wanted));
  }
});

test("every field, parameter and header has a description, and no description is unused", () => {
  const made = describedGateway();
  expect(made.document).toEqual(document);
  expect(listUndescribed(document, "")).toEqual([]);
  expect(made.unusedWords).toEqual([]);
});
