import {
  OUTPUT_TOKENS_DEFAULT,
  OUTPUT_TOKENS_MAX,
  OUTPUT_TOKENS_MIN,
  defined,
} from "../../kernel/index.ts";
import type { MonthSpend, PeriodSpend } from "../../ledger/index.ts";
import type { DedicatedEndpoint } from "../accounts/account-rules.ts";
import { endpointScope, type LimitRow } from "../limits/effective-limits.ts";
import { type LimitValues, type StoredLimit, takeLower } from "../limits/limit-ceilings.ts";
import type { ScopeUsage } from "../limits/limit-store.ts";
import {
  byLimit,
  type ChangedLimit,
  type Effective,
  LIMIT_NAMES,
  type LimitSource,
} from "./contract/limit-change.ts";
import { type Limits, type LimitScope, spend as spendJson } from "./contract/limits.ts";
import type { LimitUse, UsedScope } from "./limit-use.ts";

export interface ShownLimits {
  readonly modelId: string | undefined;
  readonly use: LimitUse;
  readonly spend: {
    readonly org: MonthSpend;
    readonly key: MonthSpend;
    readonly periods: readonly PeriodSpend[];
  };
}

export function presentLimits({ modelId, use, spend }: ShownLimits): Limits {
  const { endpoint } = use;
  return {
    model: modelId ?? null,
    effective: effective(use.scopes),
    scopes: [
      ...use.rows.map(presentRow),
      ...(endpoint === undefined ? [] : [presentEndpoint(endpoint)]),
    ],
    output_bound: {
      min: OUTPUT_TOKENS_MIN,
      max: OUTPUT_TOKENS_MAX,
      default: OUTPUT_TOKENS_DEFAULT,
    },
    spend: {
      org: spendJson.show(spend.org),
      key: {
        ...spendJson.show(spend.key),
        ...Object.fromEntries(spend.periods.map((each) => [each.period, spendJson.show(each)])),
      },
    },
  };
}

export function presentChangedLimit(
  stored: StoredLimit & { readonly shownKeyId?: string | undefined },
  scopes: readonly UsedScope[],
): ChangedLimit {
  const { scope, keyId, shownKeyId = keyId, modelId } = stored;
  return {
    scope,
    ...defined({ key_id: shownKeyId, model: modelId }),
    stored: presentValues(stored),
    effective: effective(scopes),
  };
}

/** Picks for each limit the scope with the least left, because that one refuses first. */
function effective(scopes: readonly UsedScope[]): Effective {
  const rpm = tightest(scopes, "requestsPerMinute", ({ requests }) => requests);
  const tpm = tightest(scopes, "tokensPerMinute", ({ tokens }) => tokens);
  const concurrency = tightest(scopes, "concurrent", ({ inFlight }) => inFlight);
  // The first departed scope is the narrowest: the calls of the requested model, if there is one.
  const departed = scopes.find(({ isDeparted }) => isDeparted)?.usage?.inFlight ?? null;
  return {
    rpm: { limit: rpm.limit, remaining: rpm.left, bound_by: rpm.boundBy },
    tpm: { limit: tpm.limit, remaining: tpm.left, bound_by: tpm.boundBy },
    concurrency: {
      limit: concurrency.limit,
      in_use: concurrency.used,
      departed,
      bound_by: concurrency.boundBy,
    },
  };
}

/** Null: no scope has the limit or, for `used` and `left` alone, the store did not answer. */
interface Tightest {
  readonly limit: number | null;
  readonly used: number | null;
  readonly left: number | null;
  readonly boundBy: string | null;
}

function tightest(
  scopes: readonly UsedScope[],
  name: keyof LimitValues,
  usedOf: (usage: ScopeUsage) => number,
): Tightest {
  let found: Tightest = { limit: null, used: null, left: null, boundBy: null };
  let leastLeft = Number.POSITIVE_INFINITY;
  for (const { claim, usage } of scopes) {
    const limit = claim.limits[name];
    if (limit === undefined) continue;
    const used = usage === undefined ? null : usedOf(usage);
    const left = used === null ? null : Math.max(0, limit - used);
    const remaining = left ?? limit;
    // If two scopes have the same remainder, the narrower one is named, as in a refusal.
    if (remaining >= leastLeft) continue;
    leastLeft = remaining;
    found = { limit, used, left, boundBy: claim.shownId ?? claim.id };
  }
  return found;
}

function presentRow(row: LimitRow): LimitScope {
  const { scope, shownId: id, shownKeyId, ceilings, unfundedRequestsPerMinute: unfunded } = row;
  return {
    scope,
    id,
    ...defined({ key_id: shownKeyId }),
    ...presentValues(
      unfunded === undefined ? row.limits : takeLower(row.limits, { requestsPerMinute: unfunded }),
    ),
    ceiling: presentValues(ceilings),
    source: byLimit((word) => findSource(row, LIMIT_NAMES[word])),
  };
}

/** Returns the source of the limit that applies; null if no limit applies. */
export function findSource(
  { limits, self, contract, unfundedRequestsPerMinute }: LimitRow,
  name: keyof LimitValues,
): LimitSource {
  if (limits[name] === undefined) return null;
  // `unfundedRequestsPerMinute` is present only if it is lower than the other limits.
  if (name === "requestsPerMinute" && unfundedRequestsPerMinute !== undefined) return "unfunded";
  if (limits[name] === self[name]) return "self";
  return contract[name] === undefined ? "default" : "contract";
}

function presentEndpoint(endpoint: DedicatedEndpoint): LimitScope {
  const { scope, id, limits } = endpointScope(endpoint);
  const { requestsPerSecond, paced } = limits;
  return {
    scope,
    id,
    ...presentValues(limits),
    rps: requestsPerSecond ?? null,
    paced:
      paced === undefined ? null : { per_second: paced.perSecond, wait_ms_max: paced.waitMsMax },
    ceiling: presentValues(limits),
    source: byLimit((word) => (limits[LIMIT_NAMES[word]] === undefined ? null : "contract")),
  };
}

function presentValues(values: LimitValues): ChangedLimit["stored"] {
  return byLimit((word) => values[LIMIT_NAMES[word]] ?? null);
}
