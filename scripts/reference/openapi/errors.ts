import { HEADERS } from "../../../src/gateway/http/response-headers.ts";
import { REFUSALS, type RefusalClass } from "../../../src/kernel/core/refusals.ts";
import { anything, flag, instant, object, oneOf, ref, said, text, type Schema } from "./kit.ts";

/** Every HTTP status of each refusal class. The table of refusals has only the usual one. */
const STATUSES: Readonly<Record<RefusalClass, readonly number[]>> = {
  auth: [401, 402, 403],
  invalid_request: [400, 408],
  model_not_priced: [400],
  context_overflow: [400, 413],
  content_policy: [400, 403],
  model_unavailable: [404, 502, 503],
  upstream_error: [400, 404, 422, 500, 502, 503, 504],
  not_found: [404],
  request_too_large: [413, 431],
  rate_limit: [429],
  email_not_verified: [403],
  insufficient_quota: [429],
  usage_limited: [429],
  usage_restricted: [403],
  gateway_error: [400, 500, 502, 503, 504],
};

const WHOLE =
  /^(x-tm-(attempts|remaining-rpm|remaining-tpm|queue-ms|upstream-status)|retry-after)$/;
const CLASSES = Object.keys(REFUSALS) as readonly RefusalClass[];
/** The classes of refusals with which a route that only reads can answer. */
const READ: ReadonlySet<RefusalClass> = new Set([
  "auth",
  "email_not_verified",
  "invalid_request",
  "not_found",
  "model_unavailable",
  "rate_limit",
  "usage_restricted",
  "usage_limited",
  "request_too_large",
  "gateway_error",
]);

const metadata = {
  "origin?": oneOf(
    "gateway_admission",
    "upstream_quota",
    "upstream",
    "gateway_infrastructure",
    "authorization",
  ),
  "retryable?": flag,
  "limit_scope?": text,
  "limit_kind?": text,
  "limit_id?": text,
  "retry_at?": instant,
  "reset_at?": instant,
};

export const ERROR_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: object({
    error: object({
      code: said(oneOf(...CLASSES), "the class"),
      message: text,
      type: said(text, "generic: do not switch on it"),
      metadata: object({ error_type: oneOf(...CLASSES), ...metadata }),
    }),
    request_id: text,
  }),
  MessagesError: object({
    type: { const: "error" },
    error: object({
      type: oneOf(...new Set(CLASSES.map((name) => REFUSALS[name].wireBType))),
      message: text,
      error_type: said(oneOf(...CLASSES), "the class"),
      "details?": anything,
      metadata: object(metadata),
    }),
    request_id: text,
  }),
};

type Kind = "call" | "read";
type ErrorName = "Error" | "MessagesError";

/** Returns references to the refusals of a kind of route, by HTTP status. */
export function refusalsOf(kind: Kind, error: ErrorName): Record<string, object> {
  return Object.fromEntries(
    Object.keys(responsesOf(kind, error)).map((status) => [
      status,
      { $ref: `#/components/responses/${nameOf(kind, error, status)}` },
    ]),
  );
}

/** The refusals to which `refusalsOf` refers, by name. */
export function refusalComponents(): Record<string, object> {
  const kinds: readonly Kind[] = ["call", "read"];
  const errors: readonly ErrorName[] = ["Error", "MessagesError"];
  const all = kinds.flatMap((kind) =>
    errors.flatMap((error) => {
      if (kind === "read" && error === "MessagesError") return [];
      const responses = Object.entries(responsesOf(kind, error));
      return responses.map(([status, each]) => [nameOf(kind, error, status), each] as const);
    }),
  );
  return Object.fromEntries(all);
}

function nameOf(kind: Kind, error: ErrorName, status: string): string {
  return `${kind === "call" ? "Call" : "Read"}${error}${status}`;
}

/** Returns the refusals by HTTP status. Each names the classes that answer with this status. */
function responsesOf(kind: Kind, error: ErrorName): Record<string, object> {
  const schema = ref(error);
  const classes = CLASSES.filter((name) => kind === "call" || READ.has(name));
  const statuses = new Set(classes.flatMap((name) => STATUSES[name]));
  const responses = [...statuses]
    .toSorted((a, b) => a - b)
    .map((status) => {
      const here = classes.filter((name) => STATUSES[name].includes(status));
      const lines = here.map((name) => `- \`${name}\`: ${REFUSALS[name].condition}`);
      return [String(status), response(lines.join("\n"), schema)];
    });
  const other = kind === "call" ? { "4XX": response("A provider's own status.", schema) } : {};
  return { ...Object.fromEntries(responses), ...other };
}

function response(description: string, schema: Schema): object {
  return {
    description,
    headers: headersOn("every answer", "refusals", "x-tm-attempts"),
    content: { "application/json": { schema } },
  };
}

/** Returns references to the headers that are sent at these places or have these names. */
export function headersOn(...places: readonly string[]): Record<string, object> {
  const found = Object.values(HEADERS).filter(
    ({ name, on }) => places.includes(on) || places.includes(name),
  );
  return Object.fromEntries(
    found.map(({ name }) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

export const HEADER_COMPONENTS: Readonly<Record<string, object>> = Object.fromEntries(
  Object.values(HEADERS).map(({ name, doc }) => {
    const type = WHOLE.test(name) ? "integer" : "string";
    return [name, { description: doc.replace("`errors.md`", "the errors"), schema: { type } }];
  }),
);
