import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

import { HEADERS } from "../../src/gateway/http/response-headers.ts";
import type { HttpAnswer } from "./http-call.ts";

const FILE = join(import.meta.dirname, "../../schema/openapi-v1.json");

interface Response {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface BodySchema {
  readonly properties?: Readonly<Record<string, { readonly maximum?: number }>>;
  readonly required?: readonly string[];
}

export class PublishedApi {
  readonly document = JSON.parse(readFileSync(FILE, "utf8")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: {
      readonly responses: Readonly<Record<string, Response>>;
      readonly schemas: Readonly<Record<string, BodySchema>>;
    };
  };
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #checks = new Map<object, ValidateFunction>();

  constructor() {
    this.#ajv.addSchema(this.document, "openapi");
  }

  /** Returns what the document does not allow in the answer; empty if the answer conforms. */
  problemsOf(name: string, answer: HttpAnswer): readonly string[] {
    const [method = "", path = ""] = name.split(" ");
    const responses = this.document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    const found = responses[answer.status] ?? responses[`${String(answer.status)[0]}XX`];
    if (found === undefined) return [`${answer.status} is not documented`];
    const response = this.#resolved(found);
    const type = String(answer.headers["content-type"]).split(";")[0] ?? "";
    const known = Object.entries(response.content ?? {}).find(([pattern]) =>
      new RegExp(`^${pattern.replace("*", ".*")}$`).test(type),
    );
    if (known === undefined) return [`${answer.status} as ${type} is not documented`];
    const ours = Object.values(HEADERS).filter((each) => answer.headers[each.name] !== undefined);
    const secret = ours.filter((each) => response.headers?.[each.name] === undefined);
    const headers = secret.map((each) => `${answer.status}: header ${each.name}`);
    if (type !== "application/json") return headers;
    const check = this.#checkOf(known[1].schema);
    if (check(answer.json)) return headers;
    return [...headers, this.#ajv.errorsText(check.errors)];
  }

  #resolved(found: Response | { readonly $ref: string }): Response {
    const { $ref: reference } = found as { readonly $ref?: string };
    if (reference === undefined) return found as Response;
    return this.document.components.responses[reference.split("/").at(-1) ?? ""] ?? {};
  }

  #checkOf(schema: object): ValidateFunction {
    const known = this.#checks.get(schema);
    if (known !== undefined) return known;
    const text = JSON.stringify(schema).replaceAll('"#/', '"openapi#/');
    const check = this.#ajv.compile(JSON.parse(text) as object);
    this.#checks.set(schema, check);
    return check;
  }
}

interface Operation {
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

interface Described {
  readonly description?: string;
  readonly schema?: { readonly description?: string };
}

export function listUndescribed(value: unknown, at: string, isOfNames = false): readonly string[] {
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const place = `${at}/${name}`;
    // A field may be named like a schema keyword, so levels of names and of keywords alternate.
    const hasNames = !isOfNames && ["properties", "parameters", "headers"].includes(name);
    const silent = isOfNames && !isDescribed(each as Described) ? [place] : [];
    return [...silent, ...listUndescribed(each, place, hasNames)];
  });
}

/** A reference needs no description, because its target has one. */
function isDescribed(shape: Described): boolean {
  const words = shape.description ?? shape.schema?.description ?? "";
  return words.length > 5 || "$ref" in shape;
}
