import {
  type EndpointRecord,
  type ScopeUsage,
  byLimit,
  LIMIT_NAMES,
  sourceOf,
} from "../../gateway/index.ts";
import type { LimitRow as LimitsRow } from "./contract.ts";
import { unfundedId, type NamedRow } from "./limit-rows.ts";

/** One scope as the limits page shows it; `usages` are by scope id. */
export function shownLimitRow(
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
    source: sourceOf(row, LIMIT_NAMES[word]),
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

/** A dedicated endpoint: what the operator set for it, which the customer cannot change. */
export function shownEndpointRow(
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
