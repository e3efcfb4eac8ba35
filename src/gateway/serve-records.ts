import { parseRequestId } from "../core/ids.ts";
import { invalidRequest, refusal, type Refusal } from "../core/refusals.ts";
import type { RecordStore, UsageQuery } from "../ledger/record-store.ts";
import { unknownModel } from "../routing/plan-route.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { ClientExchange } from "./client-exchange.ts";
import { modelEntryA, modelEntryB, modelListA, modelListB } from "./list-models.ts";
import { generationBody, usageBody } from "./show-records.ts";

/** What the read routes work with. */
export interface RecordDeps {
  readonly catalog: { readonly current: Catalog };
  readonly records: RecordStore;
}

const USAGE_ROWS_DEFAULT = 50;
const USAGE_ROWS_MAX = 1_000;
const GROUPINGS = ["day", "model", "key", "provider"] as const;

/** `GET /v1/models`: the wire_b shape for a client that sends its version header. */
export function serveModels(
  deps: RecordDeps,
  exchange: ClientExchange,
  query: URLSearchParams,
): void {
  const catalog = deps.catalog.current;
  if (!speaksWireB(exchange)) return json(exchange, JSON.stringify(modelListA(catalog)));
  const limit = readInteger(query, "limit", { min: 1, max: USAGE_ROWS_MAX });
  if (typeof limit === "object") return exchange.refuse(limit);
  const afterId = query.get("after_id");
  const beforeId = query.get("before_id");
  const page = modelListB(catalog, {
    ...(limit === undefined ? {} : { limit }),
    ...(afterId === null ? {} : { afterId }),
    ...(beforeId === null ? {} : { beforeId }),
  });
  json(exchange, JSON.stringify(page));
}

/** `GET /v1/models/{id}`: the entry, or the same 404 that a request for it would get. */
export function serveModel(deps: RecordDeps, exchange: ClientExchange, id: string): void {
  const model = deps.catalog.current.find(id);
  if (model === undefined) return exchange.refuse(unknownModel(id));
  const entry = speaksWireB(exchange) ? modelEntryB(model) : modelEntryA(model);
  json(exchange, JSON.stringify(entry));
}

/** `GET /v1/usage`: balance, month, and the ledger's rows or their sums by one grouping. */
export async function serveUsage(
  deps: RecordDeps,
  exchange: ClientExchange,
  query: URLSearchParams,
): Promise<void> {
  const { orgId, keyId } = exchange.principal;
  const read = readUsageQuery(query);
  if ("class" in read) return exchange.refuse(read);
  const usageQuery: UsageQuery = { orgId, ...read.page };
  const [balance, month, page, groups] = await Promise.all([
    deps.records.balance(orgId),
    deps.records.monthSpend(orgId, keyId),
    read.groupBy === undefined ? deps.records.usagePage(usageQuery) : NO_ROWS,
    read.groupBy === undefined ? undefined : deps.records.usageGroups(usageQuery, read.groupBy),
  ]);
  const { rows, nextCursor } = page;
  json(
    exchange,
    usageBody({ balance, month, rows, nextCursor, ...(groups === undefined ? {} : { groups }) }),
  );
}

/** `GET /v1/generation?id=`: another organization's id reads exactly like an unknown one. */
export async function serveGeneration(
  deps: RecordDeps,
  exchange: ClientExchange,
  query: URLSearchParams,
): Promise<void> {
  const requestId = parseRequestId(query.get("id") ?? "");
  const record =
    requestId === undefined
      ? undefined
      : await deps.records.generation(exchange.principal.orgId, requestId);
  if (record === undefined) {
    return exchange.refuse(
      refusal("not_found", "no request has this id; it is the x-request-id of an earlier answer"),
    );
  }
  json(exchange, generationBody(record));
}

const NO_ROWS = { rows: [], nextCursor: null } as const;

type Grouping = (typeof GROUPINGS)[number];

interface ReadUsageQuery {
  readonly page: Omit<UsageQuery, "orgId">;
  readonly groupBy?: Grouping;
}

function readUsageQuery(query: URLSearchParams): ReadUsageQuery | Refusal {
  const limit = readInteger(query, "limit", { min: 1, max: USAGE_ROWS_MAX });
  if (typeof limit === "object") return limit;
  const fromMs = readInstant(query, "from");
  if (typeof fromMs === "object") return fromMs;
  const toMs = readInstant(query, "to");
  if (typeof toMs === "object") return toMs;
  const groupBy = query.get("group_by");
  if (groupBy !== null && !isGrouping(groupBy)) {
    return invalidRequest(`group_by must be one of ${GROUPINGS.join(", ")}`);
  }
  const cursor = query.get("cursor");
  if (cursor !== null && parseRequestId(cursor) === undefined) {
    return invalidRequest("cursor must be the next_cursor of an earlier page");
  }
  return {
    page: {
      limit: limit ?? USAGE_ROWS_DEFAULT,
      ...(fromMs === undefined ? {} : { fromMs }),
      ...(toMs === undefined ? {} : { toMs }),
      ...(cursor === null ? {} : { cursor }),
    },
    ...(groupBy === null ? {} : { groupBy }),
  };
}

function isGrouping(text: string): text is Grouping {
  return GROUPINGS.some((grouping) => grouping === text);
}

function readInteger(
  query: URLSearchParams,
  name: string,
  bounds: { readonly min: number; readonly max: number },
): number | undefined | Refusal {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= bounds.min && value <= bounds.max) return value;
  return invalidRequest(
    `${name} must be a whole number from ${bounds.min} to ${bounds.max}, not ${quoted(text)}`,
  );
}

/* `Date.parse` alone takes nearly anything: it reads "-1" as a day of 2001. */
const ISO_INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Unix seconds, or an ISO date or instant. */
function readInstant(query: URLSearchParams, name: string): number | undefined | Refusal {
  const text = query.get(name);
  if (text === null) return undefined;
  const ms = /^\d{1,11}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(ISO_INSTANT.test(text) ? text : "");
  if (Number.isFinite(ms)) return ms;
  return invalidRequest(
    `${name} must be Unix seconds or an ISO date such as 2026-01-31, not ${quoted(text)}`,
  );
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

function speaksWireB(exchange: ClientExchange): boolean {
  return exchange.header("anthropic-version") !== undefined;
}

function json(exchange: ClientExchange, body: string): void {
  exchange.answer("application/json", {}, Buffer.from(body));
}
