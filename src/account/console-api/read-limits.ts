import {
  type EndpointRecord,
  type KeySummary,
  endpointScope,
  orgSlot,
  type ScopeClaim,
  type ScopeUsage,
} from "../../gateway/index.ts";
import {
  formatUsd,
  instant,
  microUsd,
  type OrgId,
  usdOrNull,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { OperationDeps } from "./console-deps.ts";
import type { Limits } from "./contract.ts";
import type { Acting } from "./handler.ts";
import { knownOrg } from "./known-org.ts";
import { rowsOfOrganization, type NamedRow } from "./limit-rows.ts";
import { isActive } from "./show-key.ts";
import { shownEndpointRow, shownLimitRow } from "./show-limit-row.ts";

/** Every limit and cap of the organization with what is used of it now. */
export async function readLimits(deps: OperationDeps, session: Acting): Promise<Limits> {
  const { accounts, rules, records, reports, limitUse } = deps;
  const { orgId } = session;
  const [org, keys, limits, endpoints, month, activity] = await Promise.all([
    knownOrg(deps, session),
    accounts.listOwnKeys(orgId),
    rules.listLimits(orgId),
    rules.listEndpoints(orgId),
    records.monthSpend(orgId),
    reports.keyActivity(orgId),
  ]);
  const active = keys.filter((key) => isActive(key, deps.clock.nowMs()));
  const ground = { limits, isFunded: org.isFunded, limitDefaults: limitUse.limitDefaults };
  const rows = rowsOfOrganization(org, active, ground);
  const usages = await peekRows(deps, orgId, rows);
  const spent = new Map(activity.map((each) => [each.keyId, each]));
  return {
    rows: [
      ...rows.map((row) => shownLimitRow(row, usages)),
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

/** What counts in each scope, by its id; a scope that the limit store did not report is missing. */
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
  return shownEndpointRow(endpoint, usage);
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
