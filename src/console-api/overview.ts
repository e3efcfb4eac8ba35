import {
  formatUsd,
  microUsd,
  REQUEST_STATUSES,
  type RequestStatus,
  ZERO_MICRO_USD,
} from "../core/index.ts";
import type { SignedIn } from "../identity/index.ts";
import type { ReportBucket, ReportFilter } from "../records/index.ts";
import { datedReports } from "./as-of.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { Overview } from "./contract.ts";
import { knownOrg } from "./known-org.ts";
import { instant } from "./read-values.ts";
import { isActive } from "./show-key.ts";
import { shownRequest } from "./show-request.ts";
import { shownFigures } from "./show-usage.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;
const TOP_MODELS = 5;
const LATEST_ERRORS = 5;
const TROUBLE: readonly RequestStatus[] = ["rejected_by_provider", "failed"];

/** The first page. Its queries of the journal run one after another, under one permit. */
export async function readOverview(deps: ConsoleDeps, session: SignedIn): Promise<Overview> {
  const { records, customers, clock } = deps;
  const { reports, asOf } = datedReports(deps.reports);
  const { orgId } = session;
  const nowMs = clock.nowMs();
  const last24h: ReportFilter = { orgId, fromMs: nowMs - DAY_MS, toMs: nowMs };
  const tomorrowMs = (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
  const days: ReportFilter = { orgId, fromMs: tomorrowMs - DAYS * DAY_MS, toMs: tomorrowMs };
  const today = await reports.report(last24h, "status");
  const month = await reports.report(days, "model");
  const errors = await reports.requests({ ...days, statuses: TROUBLE }, { limit: LATEST_ERRORS });
  const [org, spend, keys, firstSuccess, rejectedFor] = await Promise.all([
    knownOrg(deps, session),
    records.monthSpend(orgId),
    customers.listKeys(orgId),
    reports.firstSuccess(orgId),
    records.refusedFor(orgId, last24h.fromMs),
  ]);
  return {
    ...asOf(),
    spent_month_usd: formatUsd(spend.spentMicroUsd),
    org_cap_usd: spend.capMicroUsd === null ? null : formatUsd(spend.capMicroUsd),
    cap_reset_at: instant(spend.resetAtMs),
    last_24h: shownFigures(today.totals),
    rejected_for: [...rejectedFor],
    days: month.series.map(shownDay),
    top_models: month.groups.slice(0, TOP_MODELS).map(({ group, figures }) => ({
      model: group,
      requests: figures.requests,
      spent_usd: formatUsd(figures.debitMicroUsd),
    })),
    latest_errors: errors.rows.map(shownRequest),
    ...(errors.searchedToMs !== undefined && { errors_back_to: instant(errors.searchedToMs) }),
    done: {
      has_key: keys.some((key) => isActive(key, nowMs)),
      has_credit: org.isFunded,
      has_request: firstSuccess !== undefined,
    },
  };
}

function shownDay({ atMs, parts }: ReportBucket): Overview["days"][number] {
  let requests = 0;
  const byStatus = { ...NO_REQUESTS };
  let spent: bigint = ZERO_MICRO_USD;
  for (const part of parts.values()) {
    requests += part.requests;
    for (const status of STATUSES) byStatus[status] += part.byStatus[status];
    spent += part.debitMicroUsd;
  }
  return {
    day: instant(atMs).slice(0, DAY_CHARS),
    requests,
    by_status: byStatus,
    spent_usd: formatUsd(microUsd(spent)),
  };
}

const STATUSES = Object.keys(REQUEST_STATUSES) as RequestStatus[];
const NO_REQUESTS = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<
  RequestStatus,
  number
>;
const DAY_CHARS = "2026-01-01".length;
