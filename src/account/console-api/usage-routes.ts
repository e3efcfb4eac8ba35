import {
  defined,
  isManagedOrigin,
  type OrgId,
  parseRequestId,
  REQUEST_STATUSES,
  type RequestStatus,
} from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import {
  buildAnswerHeaders,
  type KeySummary,
  listDroppedParams,
  type ReportFilter,
  type ReportGroupBy,
} from "../../gateway/index.ts";
import { datedReports, readOverview } from "./overview.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { ConsoleRefusal, invalidField, notFound } from "./console-refusal.ts";
import type { RequestDetail, UsageFilters, usageRoutes } from "./contract/usage.ts";
import { buildFileName, writeLines } from "./file-answer.ts";
import type { Handlers } from "./handler.ts";
import {
  type FoundRequest,
  presentAttempt,
  presentRequest,
  presentUsage,
  requestLine,
  REQUESTS_HEAD,
} from "./present-request.ts";
import { presentRefusal } from "./present-refusal.ts";

export function usageHandlers(deps: ConsoleDeps): Handlers<keyof typeof usageRoutes> {
  return {
    "GET /api/console/overview": ({ session }) => readOverview(deps, session),

    "GET /api/console/usage": async ({ session, query }) => {
      const { group_by: by = "model", rank_by: rank = "spend", ...filters } = query;
      const filter = await buildFilter(deps, session, filters);
      if (filter instanceof ConsoleRefusal) return filter;
      const { reports, asOf } = datedReports(deps.reports);
      const [report, nameOf] = await Promise.all([
        reports.report(filter, by, rank),
        loadNames(deps, session.orgId, by),
      ]);
      return { ...presentUsage(report, filter, nameOf), ...asOf() };
    },

    "GET /api/console/requests": async ({ session, query }) => {
      const { cursor, limit = PAGE_ROWS, sort: by, direction = "desc", ...filters } = query;
      const filter = await buildFilter(deps, session, filters);
      if (filter instanceof ConsoleRefusal) return filter;
      const page = defined({ limit, cursor, sort: by && { by, direction } });
      const { reports, asOf } = datedReports(deps.reports);
      const { rows, nextCursor } = await reports.requests(filter, page);
      return { data: rows.map(presentRequest), next_cursor: nextCursor, ...asOf() };
    },

    "GET /api/console/requests.csv": async ({ session, query }) => {
      const filter = await buildFilter(deps, session, query);
      if (filter instanceof ConsoleRefusal) return filter;
      const { reports, asOf } = datedReports(deps.reports);
      const pieces = writeLines(REQUESTS_HEAD, reports.everyRequest(filter), requestLine);
      // The age of the data is in a header: in the file, an extra line would look like a request.
      const headers = () => defined({ "x-tm-as-of": asOf().as_of });
      return { fileName: buildFileName(filter, query), pieces, headers };
    },

    "GET /api/console/requests/:request_id": async ({ session, params }) => {
      const found = await findRequest(deps, session.orgId, params.request_id);
      return found === undefined ? notFound("request") : presentDetail(found);
    },
  };
}

const PAGE_ROWS = 50;

async function buildFilter(
  { clock, accounts }: Pick<ConsoleDeps, "clock" | "accounts">,
  { orgId }: SignedIn,
  { tag, ...filters }: UsageFilters,
): Promise<ReportFilter | ConsoleRefusal> {
  const filter = readFilters(orgId, filters, clock.nowMs());
  if (filter instanceof ConsoleRefusal || tag === undefined) return filter;
  return onlyTagged(filter, tag, await accounts.listOwnKeys(orgId));
}

export async function findRequest(
  { reports }: Pick<ConsoleDeps, "reports">,
  orgId: OrgId,
  text: string,
): Promise<FoundRequest | undefined> {
  const requestId = parseRequestId(text);
  return requestId && (await reports.request(orgId, requestId));
}

export function presentDetail(found: FoundRequest): RequestDetail {
  const headers = Object.entries(buildAnswerHeaders(found));
  return {
    request: presentRequest(found.request),
    attempts: found.attempts.map(presentAttempt),
    dropped_params: [...listDroppedParams(found)],
    response_headers: headers.map(([name, value]) => ({ name, value })),
    refusal: found.refused === undefined ? null : presentRefusal(found.request, found.refused),
  };
}

async function loadNames(
  { accounts, catalog }: ConsoleDeps,
  orgId: OrgId,
  by: ReportGroupBy,
): Promise<(group: string) => string> {
  const { current } = catalog;
  if (by === "model") return (group) => current.find(group)?.displayName ?? group;
  if (by === "provider") {
    const names = new Map(current.providers.map(({ id, name }): [string, string] => [id, name]));
    return (group) => names.get(group) ?? group;
  }
  if (by !== "key") return (group) => group;
  const keys = await accounts.listOwnKeys(orgId);
  const names = new Map<string, string>(keys.map(({ keyId, name }) => [keyId, name]));
  return (group) => names.get(group) ?? MANAGED_NAMES[group] ?? group;
}

const MANAGED_NAMES: Readonly<Record<string, string>> = {
  playground: "Playground",
  optimize: "Optimize searches",
};

const DAY_MS = 86_400_000;
const RANGE_DAYS_MAX = 366;

/** Reads the filters of a page; the default range is the last 24 hours. */
export function readFilters(
  orgId: OrgId,
  filters: UsageFilters,
  nowMs: number,
): ReportFilter | ConsoleRefusal {
  const toMs = filters.to === undefined ? nowMs : Date.parse(filters.to);
  const fromMs = filters.from === undefined ? toMs - DAY_MS : Date.parse(filters.from);
  if (fromMs >= toMs) return invalidField("from", "from must be an instant before to");
  if (toMs - fromMs > RANGE_DAYS_MAX * DAY_MS) {
    return invalidField("from", `from and to can span ${RANGE_DAYS_MAX} days at most`);
  }
  const key = splitValues(filters.key);
  const lists = defined({
    modelIds: splitValues(filters.model),
    providerIds: splitValues(filters.provider),
    statuses: splitValues(filters.status)?.filter(isStatus),
  });
  return { orgId, fromMs, toMs, ...lists, ...(key === undefined ? {} : keyFilter(key)) };
}

/**
 * Requests store no tags: the tags that a key has now apply to all its requests. Managed keys have
 * no tags.
 */
export function onlyTagged(
  { managed, ...filter }: ReportFilter,
  tag: string,
  keys: readonly Pick<KeySummary, "keyId" | "tags">[],
): ReportFilter {
  const wanted = splitValues(tag) ?? [];
  const asked = filter.keyIds ?? (managed === undefined ? undefined : []);
  const tagged = keys.filter(({ tags }) => tags.some((each) => wanted.includes(each)));
  const keyIds = tagged.map(({ keyId }) => keyId);
  return {
    ...filter,
    keyIds: asked === undefined ? keyIds : keyIds.filter((keyId) => asked.includes(keyId)),
  };
}

function splitValues(text: string | undefined): readonly string[] | undefined {
  return text === undefined ? undefined : [...new Set(text.split(","))];
}

function isStatus(value: string): value is RequestStatus {
  return Object.hasOwn(REQUEST_STATUSES, value);
}

function keyFilter(keys: readonly string[]): Pick<ReportFilter, "keyIds" | "managed"> {
  const managed = keys.filter(isManagedOrigin);
  const keyIds = keys.filter((key) => !isManagedOrigin(key));
  return defined({
    managed: managed.length === 0 ? undefined : managed,
    keyIds: keyIds.length === 0 ? undefined : keyIds,
  });
}
