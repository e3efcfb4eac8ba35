import {
  type EndpointRecord,
  type KeySummary,
  endpointScope,
  orgSlot,
  type ScopeClaim,
  type ScopeUsage,
  type OrgSummary,
  type LimitedKey,
  type LimitRow,
  limitRows,
  orgLimitRows,
  type StoredLimit,
  byLimit,
  LIMIT_NAMES,
  findSource,
} from "../../gateway/index.ts";
import {
  formatUsd,
  instant,
  microUsd,
  type OrgId,
  usdOrNull,
  ZERO_MICRO_USD,
  type KeyId,
} from "../../kernel/index.ts";
import type { OperationDeps } from "./console-deps.ts";
import type { Limits, LimitRow as LimitsRow } from "./contract.ts";
import type { Acting } from "./handler.ts";
import { requireOrg } from "./known-org.ts";
import { isActive, limitedKey, type LimitContext } from "./present-key.ts";

export async function readLimits(deps: OperationDeps, session: Acting): Promise<Limits> {
  const { accounts, rules, records, reports, limitUse } = deps;
  const { orgId } = session;
  const [org, keys, limits, endpoints, month, activity] = await Promise.all([
    requireOrg(deps, session),
    accounts.listOwnKeys(orgId),
    rules.listLimits(orgId),
    rules.listEndpoints(orgId),
    records.monthSpend(orgId),
    reports.keyActivity(orgId),
  ]);
  const active = keys.filter((key) => isActive(key, deps.clock.nowMs()));
  const context = { limits, isFunded: org.isFunded, limitDefaults: limitUse.limitDefaults };
  const rows = rowsOfOrganization(org, active, context);
  const usages = await peekRows(deps, orgId, rows);
  const spent = new Map(activity.map((each) => [each.keyId, each]));
  return {
    rows: [
      ...rows.map((row) => presentLimitRow(row, usages)),
      ...(await Promise.all(endpoints.map((each) => endpointRow(deps, each)))),
    ],
    caps: [
      {
        scope: "org",
        key_id: null,
        name: org.name,
        cap_usd: usdOrNull(month.capMicroUsd),
        spent_usd: formatUsd(month.spentMicroUsd),
        in_flight_usd: formatUsd(month.inFlightMicroUsd),
      },
      ...active.map((key) => keyCap(key, spent.get(key.keyId))),
    ],
    cap_reset_at: instant(month.resetAtMs),
    is_funded: org.isFunded,
  };
}

/** Reads each scope's use, by the scope's id; a scope that the limit store left out is missing. */
async function peekRows(
  { limitUse: { limits, clock } }: OperationDeps,
  orgId: OrgId,
  rows: readonly NamedRow[],
): Promise<ReadonlyMap<string, ScopeUsage>> {
  const scopes = rows.flatMap(({ claims }) => claims);
  const found = new Map<string, ScopeUsage>();
  for (let at = 0; at < scopes.length; at += SCOPES_PER_READ) {
    const part = scopes.slice(at, at + SCOPES_PER_READ);
    const asked = { slot: orgSlot(orgId), scopes: part, nowMs: clock.monotonicMs() };
    const usages = await limits.peek(asked);
    part.forEach(({ id }, index) => {
      const usage = usages?.[index];
      if (usage !== undefined) found.set(id, usage);
    });
  }
  return found;
}

const SCOPES_PER_READ = 50;

async function endpointRow(
  { limitUse: { limits, clock } }: OperationDeps,
  endpoint: EndpointRecord,
): Promise<Limits["rows"][number]> {
  const scope: ScopeClaim = endpointScope(endpoint);
  const asked = { slot: `{${scope.id}}`, scopes: [scope], nowMs: clock.monotonicMs() };
  const [usage] = (await limits.peek(asked)) ?? [];
  return presentEndpointRow(endpoint, usage);
}

function keyCap(
  key: KeySummary,
  spent: { spentMonthMicroUsd: bigint; inFlightMicroUsd: bigint } | undefined,
): Limits["caps"][number] {
  return {
    scope: "key",
    key_id: key.keyId,
    name: key.name,
    cap_usd: usdOrNull(key.caps.month),
    spent_usd: usdOrZero(spent?.spentMonthMicroUsd),
    in_flight_usd: usdOrZero(spent?.inFlightMicroUsd),
  };
}

function usdOrZero(amount: bigint | undefined): string {
  return formatUsd(microUsd(amount ?? ZERO_MICRO_USD));
}

interface NamedRow {
  readonly row: LimitRow;
  readonly name: string;
  readonly modelId: string | null;
  /**
   * The claims whose use is shown: the scope's own, and the request window that applies until the
   * organization has credit.
   */
  readonly claims: readonly ScopeClaim[];
}

/**
 * Lists every scope that can refuse a request of the organization: the organization, each key of
 * `keys`, and each model with a stored limit. Limits of other keys are left out.
 */
function rowsOfOrganization(
  org: OrgSummary,
  keys: readonly KeySummary[],
  context: LimitContext,
): readonly NamedRow[] {
  const { limits, limitDefaults } = context;
  const whole = { orgId: org.orgId, funded: context.isFunded, rules: { limits } };
  const listRows = (key: LimitedKey, modelId?: string): readonly LimitRow[] =>
    limitRows(key, modelId, limitDefaults);
  const orgRows = orgLimitRows(whole, undefined, limitDefaults);
  const orgModels = listModels(limits, undefined).flatMap((id) =>
    orgLimitRows(whole, id, limitDefaults)
      .filter(({ scope }) => scope === "model")
      .map((row) => toNamedRow(row, id, id)),
  );
  const ofKeys = keys.map((summary) => ({ summary, key: limitedKey(summary, context) }));
  const keyModels = ofKeys.flatMap(({ summary, key }) =>
    listModels(limits, key.keyId).flatMap((id) =>
      listRows(key, id)
        .filter(({ scope, keyId }) => scope === "model" && keyId === key.keyId)
        .map((row) => toNamedRow(row, summary.name, id)),
    ),
  );
  const keyRows = ofKeys.flatMap(({ summary, key }) =>
    listRows(key)
      .filter(({ scope }) => scope === "key")
      .map((row) => toNamedRow({ ...row, keyId: key.keyId }, summary.name)),
  );
  return [
    ...orgRows.map((row) => toNamedRow(row, org.name)),
    ...keyRows,
    ...orgModels,
    ...keyModels,
  ];
}

function listModels(limits: readonly StoredLimit[], ofKey: KeyId | undefined): readonly string[] {
  const ids = limits.flatMap(({ scope, keyId, modelId }) =>
    scope === "model" && modelId !== undefined && keyId === ofKey ? [modelId] : [],
  );
  return [...new Set(ids)].sort();
}

function toNamedRow(row: LimitRow, name: string, modelId: string | null = null): NamedRow {
  const { scope, id, limits, unfundedRequestsPerMinute: requestsPerMinute } = row;
  const unfunded =
    requestsPerMinute === undefined
      ? []
      : [{ scope, id: unfundedId(row), limits: { requestsPerMinute } }];
  return { row, name, modelId, claims: [{ scope, id, limits }, ...unfunded] };
}

/** The id of the request window that applies until the organization has credit. */
function unfundedId({ id }: Pick<LimitRow, "id">): string {
  return `${id}#unfunded`;
}

function presentLimitRow(
  { row, name, modelId }: NamedRow,
  usages: ReadonlyMap<string, ScopeUsage>,
): LimitsRow {
  const unfunded = row.unfundedRequestsPerMinute;
  const requests = usages.get(unfunded === undefined ? row.id : unfundedId(row))?.requests;
  const used = showUsed(usages.get(row.id), requests);
  const values = byLimit((word) => ({
    ceiling: row.ceilings[LIMIT_NAMES[word]],
    own: row.self[LIMIT_NAMES[word]] ?? null,
    effective: row.limits[LIMIT_NAMES[word]] ?? null,
    source: findSource(row, LIMIT_NAMES[word]),
    used: used[word],
  }));
  return {
    scope: row.scope,
    key_id: row.keyId ?? null,
    name,
    model: modelId,
    ...values,
    ...(unfunded !== undefined && { rpm: { ...values.rpm, effective: unfunded } }),
  };
}

/** Only the operator can change the limits of a dedicated endpoint, so `own` is always null. */
function presentEndpointRow(
  { providerId, limits }: EndpointRecord,
  usage: ScopeUsage | undefined,
): LimitsRow {
  const used = showUsed(usage);
  return {
    scope: "endpoint",
    key_id: null,
    name: providerId,
    model: null,
    ...byLimit((word) => {
      const limit = limits[LIMIT_NAMES[word]] ?? null;
      const source = limit === null ? null : ("contract" as const);
      return { ceiling: limit, own: null, effective: limit, source, used: used[word] };
    }),
  };
}

function showUsed(usage: ScopeUsage | undefined, requests = usage?.requests) {
  return {
    rpm: requests ?? null,
    tpm: usage?.tokens ?? null,
    concurrency: usage?.inFlight ?? null,
  };
}
