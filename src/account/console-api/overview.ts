import {
  formatUsd,
  instant,
  instantOrNull,
  microUsd,
  type MicroUsd,
  REQUEST_STATUSES,
  type RequestStatus,
  usdOrNull,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { SignedIn } from "../identity/identity-store.ts";
import type { Balance } from "../../ledger/index.ts";
import type { ReportBucket, ReportFilter, UsageReport, UsageReports } from "../../gateway/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { Overview } from "./contract.ts";
import { requireOrg } from "./read-values.ts";
import { isActive } from "./present-key.ts";
import { presentFigures, presentRequest } from "./present-request.ts";

/** `asOf` returns the instant of the oldest data that a replica served, or nothing if none did. */
export function datedReports(reports: UsageReports) {
  let oldestMs: number | undefined;
  const noted = reports.noting((asOfMs) => {
    oldestMs = Math.min(oldestMs ?? asOfMs, asOfMs);
  });
  return {
    reports: noted,
    asOf: (): { readonly as_of?: string } =>
      oldestMs === undefined ? {} : { as_of: instant(oldestMs) },
  };
}

const DAY_MS = 86_400_000;
const DAYS = 30;
const TOP_MODELS = 5;
const LATEST_ERRORS = 5;
const TROUBLE: readonly RequestStatus[] = ["rejected_by_gateway", "rejected_by_provider", "failed"];

/** Runs its journal queries one after another, since the gate counts the request as one query. */
export async function readOverview(deps: ConsoleDeps, session: SignedIn): Promise<Overview> {
  const { records, accounts, clock } = deps;
  const { reports, asOf } = datedReports(deps.reports);
  const { orgId } = session;
  const nowMs = clock.nowMs();
  const last24h: ReportFilter = { orgId, fromMs: nowMs - DAY_MS, toMs: nowMs };
  const days: ReportFilter = { orgId, ...lastDays(nowMs) };
  const today = await reports.report(last24h, "status");
  const month = await reports.report(days, "model");
  const dayBefore = await reports.report(
    { orgId, fromMs: nowMs - 2 * DAY_MS, toMs: nowMs - DAY_MS },
    "status",
  );
  const monthBefore = await reports.report({ orgId, ...sameSpanOfMonthBefore(nowMs) }, "status");
  const errors = await reports.requests({ ...days, statuses: TROUBLE }, { limit: LATEST_ERRORS });
  const [org, balance, spend, keys, firstSuccess, rejectedFor] = await Promise.all([
    requireOrg(deps, session),
    records.balance(orgId),
    records.monthSpend(orgId),
    accounts.listOwnKeys(orgId),
    reports.firstSuccess(orgId),
    records.refusedFor(orgId, last24h.fromMs),
  ]);
  return {
    ...asOf(),
    spent_month_usd: formatUsd(spend.spentMicroUsd),
    org_cap_usd: usdOrNull(spend.capMicroUsd),
    cap_reset_at: instant(spend.resetAtMs),
    lasts: presentRunway(balance, month, nowMs),
    last_24h: presentFigures(today.totals),
    rejected_for: [...rejectedFor],
    before: {
      last_24h: dayBefore.totals.requests === 0 ? null : presentFigures(dayBefore.totals),
      spent_month_usd:
        monthBefore.totals.debitMicroUsd === ZERO_MICRO_USD
          ? null
          : formatUsd(monthBefore.totals.debitMicroUsd),
    },
    days: month.series.map(presentDay),
    day_models: listDayModels(month, deps),
    top_models: topModels(month, deps),
    latest_errors: errors.rows.map(presentRequest),
    done: {
      has_key: keys.some((key) => isActive(key, nowMs)),
      has_credit: org.isFunded,
      has_request: firstSuccess !== undefined,
    },
  };
}

/** The last 30 UTC days, today's whole day included, so that most can be read from stored sums. */
export function lastDays(nowMs: number): Span {
  const toMs = (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
  return { fromMs: toMs - DAYS * DAY_MS, toMs };
}

type Span = Pick<ReportFilter, "fromMs" | "toMs">;

/** The previous month up to the same day and time as now; all of it if it has no such day. */
export function sameSpanOfMonthBefore(nowMs: number): Span {
  const now = new Date(nowMs);
  const startMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  const fromMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1);
  return { fromMs, toMs: Math.min(fromMs + (nowMs - startMs), startMs) };
}

function presentRunway(
  { settledMicroUsd, heldMicroUsd }: Balance,
  { series }: UsageReport,
  nowMs: number,
): Overview["lasts"] {
  const days = series.map(({ atMs, parts }) => ({
    dayMs: atMs,
    spentMicroUsd: [...parts.values()].reduce((sum, part) => sum + part.debitMicroUsd, 0n),
  }));
  const lasting = estimateRunway(microUsd(settledMicroUsd - heldMicroUsd), days, nowMs);
  if (lasting === undefined) return null;
  const { perDayMicroUsd, untilMs } = lasting;
  return {
    per_day_usd: formatUsd(microUsd(perDayMicroUsd)),
    until: instantOrNull(untilMs),
  };
}

function listDayModels(
  { groups, series }: UsageReport,
  { catalog: { current } }: ConsoleDeps,
): Overview["day_models"] {
  const named = new Set(series.flatMap(({ parts }) => [...parts.keys()]));
  return groups
    .filter(({ group }) => named.has(group) && !NO_MODELS.has(group))
    .filter(({ figures }) => figures.debitMicroUsd > ZERO_MICRO_USD)
    .map(({ group }) => ({ model: group, name: current.find(group)?.displayName ?? group }));
}

/** Leaves out rejected requests, since a client may repeat a rejected one a thousand times. */
function topModels(
  { groups }: UsageReport,
  { catalog: { current } }: ConsoleDeps,
): Overview["top_models"] {
  return groups
    .map(({ group, figures }) => {
      const { requests, byStatus } = figures;
      const rejected = byStatus.rejected_by_gateway + byStatus.rejected_by_provider;
      return { group, figures, requests: requests - rejected };
    })
    .filter(({ group, requests }) => requests > 0 && !NO_MODELS.has(group))
    .slice(0, TOP_MODELS)
    .map(({ group, figures, requests }) => ({
      model: group,
      name: current.find(group)?.displayName ?? group,
      requests,
      spent_usd: formatUsd(figures.debitMicroUsd),
    }));
}
const NO_MODELS: ReadonlySet<string> = new Set(["none", "other"]);

function presentDay({ atMs, parts }: ReportBucket): Overview["days"][number] {
  let requests = 0;
  const byStatus = { ...NO_REQUESTS };
  const byModel: Record<string, string> = {};
  let spent: bigint = ZERO_MICRO_USD;
  for (const [model, part] of parts) {
    requests += part.requests;
    for (const status of STATUSES) byStatus[status] += part.byStatus[status];
    spent += part.debitMicroUsd;
    if (part.debitMicroUsd > ZERO_MICRO_USD) byModel[model] = formatUsd(part.debitMicroUsd);
  }
  return {
    day: instant(atMs).slice(0, DAY_CHARS),
    requests,
    by_status: byStatus,
    spent_usd: formatUsd(microUsd(spent)),
    spent_by_model: byModel,
  };
}

const STATUSES = Object.keys(REQUEST_STATUSES) as RequestStatus[];
const NO_REQUESTS = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<
  RequestStatus,
  number
>;
const DAY_CHARS = "2026-01-01".length;

export interface Spending {
  readonly dayMs: number;
  readonly spentMicroUsd: bigint;
}

/** A week, so that working days and weekends weigh as they do in the long run. */
const WHOLE_DAYS = 7;
const WHOLE_DAYS_MIN = 2;
const DAYS_MAX = 365n;

/**
 * Estimates until when a balance lasts at the pace of the last seven whole days. Days before the
 * first spend do not count. Undefined if fewer than two days are left, or if there is no balance.
 */
export function estimateRunway(
  availableMicroUsd: MicroUsd,
  days: readonly Spending[],
  nowMs: number,
) {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const week = days.filter(
    ({ dayMs }) => dayMs < todayMs && dayMs >= todayMs - WHOLE_DAYS * DAY_MS,
  );
  const firstAt = week.findIndex(({ spentMicroUsd }) => spentMicroUsd > 0n);
  const counted = firstAt === -1 ? [] : week.slice(firstAt);
  if (counted.length < WHOLE_DAYS_MIN || availableMicroUsd <= 0n) return undefined;
  const length = BigInt(counted.length);
  const spent = counted.reduce((sum, { spentMicroUsd }) => sum + spentMicroUsd, 0n);
  // The pace that is shown is rounded up, so that it does not promise too much.
  const perDayMicroUsd = (spent + length - 1n) / length;
  const lastsMs = (availableMicroUsd * length * BigInt(DAY_MS)) / spent;
  const untilMs = lastsMs > DAYS_MAX * BigInt(DAY_MS) ? undefined : nowMs + Number(lastsMs);
  return { perDayMicroUsd, untilMs };
}
