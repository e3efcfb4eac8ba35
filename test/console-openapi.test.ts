import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Ajv } from "ajv";
import { expect, test } from "vitest";

import { describedConsole } from "../scripts/reference/console-openapi/document.ts";
import { ROUTES } from "../src/account/console-api/contract.ts";
import type { RouteContract } from "../src/account/console-api/contract/shared.ts";
import { OPERATIONS } from "../src/account/console-api/operations.ts";
import { listUndescribed } from "./support/openapi.ts";

interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: object }>> };
  readonly responses: Readonly<Record<string, { content: Record<string, { schema: object }> }>>;
}

const FILE = join(import.meta.dirname, "../schema/openapi-console.json");
const document = JSON.parse(readFileSync(FILE, "utf8")) as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { schemas: Record<string, object>; securitySchemes: object };
};

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test("the API document describes every route of the contract that is not for operators, and no other", () => {
  expect(document.openapi).toBe("3.1.0");
  const described = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`);
  const forCustomers = Object.entries(ROUTES).filter(
    ([, { access }]: [string, RouteContract]) => access !== "operator",
  );
  const promised = forCustomers.map(([name]) => name.replaceAll(/:(\w+)/g, "{$1}"));
  expect(described.sort()).toEqual(promised.sort());
});

test("every placeholder of a path is a required parameter, and every operation has its own id", () => {
  for (const { path, operation } of operations) {
    const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const inPath = operation.parameters.filter((each) => each.in === "path");
    expect(inPath.map(({ name }) => name)).toEqual(placeholders);
    expect(inPath.every(({ required }) => required)).toBe(true);
  }
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test("only routes that return an organization's file take the query parameter org", () => {
  const named = operations.filter(({ operation }) =>
    operation.parameters.some((each) => each.name === "org" && each.in === "query"),
  );
  const files = Object.entries<RouteContract>(ROUTES).filter(
    ([, { answerType, needs }]) => answerType !== undefined && needs !== undefined,
  );
  const asked = named.map(({ path, method }) => `${method.toUpperCase()} ${path}`);
  expect(asked.sort()).toEqual(files.map(([name]) => name.replaceAll(/:(\w+)/g, "{$1}")).sort());
});

test("every schema of the API document compiles, and every operation describes its refusals", () => {
  const ajv = new Ajv({ strict: true, strictTypes: false }).addFormat("date-time", /T/);
  const compiled = new Set<string>();
  for (const { operation } of operations) {
    const bodies = Object.values(operation.requestBody?.content ?? {});
    const answers = Object.values(operation.responses["200"]?.content ?? {});
    for (const { schema } of [...operation.parameters, ...bodies, ...answers]) {
      const written = JSON.stringify(schema);
      if (!compiled.has(written)) ajv.compile(schema);
      compiled.add(written);
    }
    expect(operation.responses["default"]?.content["application/json"]?.schema).toEqual({
      $ref: "#/components/schemas/ConsoleError",
    });
  }
  expect(compiled.size).toBeGreaterThan(operations.length);
  ajv.compile(document.components.schemas["ConsoleError"] ?? false);
});

test("the API document marks exactly the public routes as needing no session", () => {
  const open = operations.filter(({ operation }) => operation.security.length === 0);
  expect(open.map(({ path }) => path).sort()).toEqual([
    "/api/catalog.json",
    "/api/console/session",
    "/api/listing-figures.json",
    "/api/manifest-check",
    "/api/models.json",
    "/api/providers.json",
  ]);
  expect(document.components.securitySchemes).toHaveProperty("session");
});

test("every field and parameter has a description, and no description is unused", () => {
  const made = describedConsole();
  expect(made.document).toEqual(document);
  expect(listUndescribed(document, "")).toEqual([]);
  expect(made.unusedWords).toEqual([]);
});

test("every field of a command has a description", () => {
  const undescribed = OPERATIONS.flatMap(({ name, contract }) =>
    [contract.query, contract.body].flatMap((schema) =>
      Object.entries(((schema ?? {}) as Described).properties ?? {})
        .filter(([field, shape]) => field !== "org_id" && !isDescribed(shape))
        .map(([field]) => `${name} ${field}`),
    ),
  );
  expect(undescribed).toEqual([]);
});

interface Described {
  readonly description?: string;
  readonly anyOf?: readonly Described[];
  readonly properties?: Readonly<Record<string, Described>>;
}

function isDescribed({ description, anyOf = [] }: Described): boolean {
  return description !== undefined || anyOf.some(isDescribed);
}
