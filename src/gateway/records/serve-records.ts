import type { ClientExchange } from "../call/client-exchange.ts";
import type { Catalog, ListedModel } from "../../catalog/index.ts";
import { parseRequestId, printJson, refusal, listPieces } from "../../kernel/index.ts";
import { unknownModel } from "../routing/plan-route.ts";
import { messagesModel, modelEntry, ModelPage, type Verdicts } from "./contract/models.ts";
import { generation, type Grouping, usagePage } from "./contract/usage.ts";
import { filterModels, rankNames, readModelFilter } from "./model-query.ts";
import { queryReader, readUsageQuery } from "./read-query.ts";
import type { RecordStore } from "./postgres-record-store.ts";
import type { UsageQuery } from "./record-rows.ts";
import type { UsageCsv } from "./usage-csv.ts";
import type { OrgGate } from "./org-gate.ts";
import type { ListingVerification } from "../verification/verification.ts";

export interface RecordDeps {
  readonly catalog: { readonly current: Catalog };
  readonly records: RecordStore;
  readonly verdicts: Verdicts;
}

const JSON_TYPE = "application/json";
const USAGE_ROWS_DEFAULT = 50;

/** Answers `GET /v1/models`, in the Messages format (wire_b) if its version header is sent. */
export async function serveModels(
  deps: RecordDeps,
  exchange: ClientExchange,
  query: URLSearchParams,
): Promise<void> {
  const read = readModelFilter(query);
  if (!read.ok) return exchange.refuse(read.refusal);
  const listed = deps.catalog.current.models;
  if (read.asked.sort === "name") await rankNames(listed);
  const { models: allowed } = exchange.principal;
  const fitting = filterModels(listed, read.asked, deps.verdicts);
  const models = allowed === undefined ? fitting : fitting.filter(({ id }) => allowed.has(id));
  if (speaksWireB(exchange)) {
    const page = readPage(query);
    if (!page.ok) return exchange.refuse(page.refusal);
    return exchange.answer(JSON_TYPE, {}, await modelListB(models, page.asked));
  }
  exchange.answer(JSON_TYPE, {}, await modelListA(models, deps.verdicts));
}

const readPage = queryReader(ModelPage);

/** `GET /v1/models/{id}` returns one public model that the key may call, or a 404. */
export function serveModel(deps: RecordDeps, exchange: ClientExchange, id: string): void {
  const model = deps.catalog.current.find(id);
  const isAllowed = exchange.principal.models?.has(id) !== false;
  if (model === undefined || !isAllowed)
    return exchange.refuse(unknownModel(id, exchange.principal.models));
  const entry = speaksWireB(exchange)
    ? messagesModel.show(model)
    : modelEntry.show({ model, verdicts: deps.verdicts });
  json(exchange, JSON.stringify(entry));
}

/** Answers `GET /v1/usage`. A CSV file has only the requests or sums, no balance and no month. */
export async function serveUsage(
  deps: RecordDeps & { readonly csv: UsageCsv; readonly sums: OrgGate; readonly reads: OrgGate },
  exchange: ClientExchange,
  query: URLSearchParams,
): Promise<void> {
  const { orgId, keyId } = exchange.principal;
  const read = readUsageQuery(query, exchange.header("accept"));
  if (!read.ok) return exchange.refuse(read.refusal);
  if (read.isFile) return await deps.csv.serve(exchange, read);
  const usageQuery: UsageQuery = { orgId, limit: read.limit ?? USAGE_ROWS_DEFAULT, ...read.range };
  const serve = async (): Promise<void> => {
    const [balance, month, page] = await Promise.all([
      deps.records.balance(orgId),
      deps.records.monthSpend(orgId, keyId),
      read.groupBy === undefined
        ? deps.records.usagePage(usageQuery)
        : readGroups(deps.records, usageQuery, read.groupBy),
    ]);
    json(exchange, printJson(usagePage.show({ balance, month, ...page })));
  };
  await (read.groupBy === undefined ? deps.reads : deps.sums).run(exchange, serve);
}

/** Groups have no cursor: a client that wants more sends a higher limit or a shorter range. */
async function readGroups(records: RecordStore, query: UsageQuery, by: Grouping) {
  const { limit } = query;
  const found = await records.usageGroups({ ...query, limit: limit + 1 }, by);
  const hasMoreGroups = found.length > limit;
  return { rows: [], groups: found.slice(0, limit), hasMoreGroups, nextCursor: null };
}

/** Answers `GET /v1/generation?id=`. Ids of other organizations count as unknown. */
export async function serveGeneration(
  deps: RecordDeps,
  exchange: ClientExchange,
  query: URLSearchParams,
): Promise<void> {
  const requestId = parseRequestId(query.get("id") ?? "");
  const { orgId } = exchange.principal;
  const record = requestId && (await deps.records.generation(orgId, requestId));
  if (record === undefined) {
    return exchange.refuse(
      refusal("not_found", "no request has this id; send the x-request-id of an earlier response"),
    );
  }
  json(exchange, printJson(generation.show(record)));
}

function speaksWireB(exchange: ClientExchange): boolean {
  return exchange.header("anthropic-version") !== undefined;
}

function json(exchange: ClientExchange, body: string): void {
  exchange.answer(JSON_TYPE, {}, Buffer.from(body));
}

/** Renders the list for chat completions (wire_a), in pieces, so that other requests can go on. */
export function modelListA(
  models: readonly ListedModel[],
  verdicts: Verdicts,
): Promise<readonly Buffer[]> {
  const frame = { before: '{"object":"list","data":[', after: "]}" };
  return listPieces(models, (model) => entryText(model, verdicts), frame);
}

// A WeakMap, so that the entries of a replaced catalog are freed with it.
const keptEntries = new WeakMap<ListedModel, { readonly seen: string; readonly text: string }>();

/** The text is kept until a verdict changes, because any client may request the whole list. */
function entryText(model: ListedModel, verdicts: Verdicts): string {
  const seen = model.deployments.map((each) => verdictText(verdicts.of(each))).join();
  const kept = keptEntries.get(model);
  if (kept?.seen === seen) return kept.text;
  const text = JSON.stringify(modelEntry.show({ model, verdicts }));
  keptEntries.set(model, { seen, text });
  return text;
}

function verdictText({ state, verdict, suspect }: ListingVerification): string {
  return `${state} ${verdict?.checkedAtMs ?? ""} ${suspect?.sinceMs ?? ""}`;
}

/** Renders a page of the list in the wire_b format, in pieces like `modelListA`. */
export function modelListB(
  models: readonly ListedModel[],
  query: ModelPage,
): Promise<readonly Buffer[]> {
  const page = cutPage(models, query);
  const rest = JSON.stringify({
    has_more: page.hasMore,
    first_id: page.models[0]?.id ?? null,
    last_id: page.models.at(-1)?.id ?? null,
  });
  const frame = { before: '{"data":[', after: `],${rest.slice(1)}` };
  return listPieces(page.models, (model) => JSON.stringify(messagesModel.show(model)), frame);
}

function cutPage(models: readonly ListedModel[], query: ModelPage) {
  let rest = models;
  if (query.after_id !== undefined) {
    rest = rest.slice(rest.findIndex((model) => model.id === query.after_id) + 1);
  }
  if (query.before_id !== undefined) {
    const at = rest.findIndex((model) => model.id === query.before_id);
    rest = at === -1 ? rest : rest.slice(0, at);
    const start = Math.max(0, rest.length - (query.limit ?? rest.length));
    return { models: rest.slice(start), hasMore: start > 0 };
  }
  const limit = query.limit ?? rest.length;
  return { models: rest.slice(0, limit), hasMore: rest.length > limit };
}
