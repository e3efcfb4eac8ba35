import type { EndpointRecord } from "../accounts/index.ts";
import type { ScopeUsage } from "../limits/index.ts";
import { LIMIT_NAMES, sourceOf } from "../records/index.ts";
import type { LimitRow as LimitsRow, LimitValue } from "./contract.ts";
import { unfundedId, type NamedRow } from "./limit-rows.ts";

type Word = keyof typeof LIMIT_NAMES;

/** One scope as the limits page shows it; `usages` are by scope id. */
export function shownLimitRow(
  { row, name, modelId }: NamedRow,
  usages: ReadonlyMap<string, ScopeUsage>,
): LimitsRow {
  const usage = usages.get(row.id);
  const unfunded = row.unfundedRequestsPerMinute;
  const value = (word: Word, used: number | undefined): LimitValue => ({
    ceiling: row.ceilings[LIMIT_NAMES[word]],
    own: row.self[LIMIT_NAMES[word]] ?? null,
    effective: row.limits[LIMIT_NAMES[word]] ?? null,
    source: sourceOf(row, LIMIT_NAMES[word]),
    used: used ?? null,
  });
  const requests = unfunded === undefined ? usage : usages.get(unfundedId(row));
  const rpm = value("rpm", requests?.requests);
  return {
    scope: row.scope,
    key_id: row.keyId ?? null,
    name,
    model: modelId,
    rpm: unfunded === undefined ? rpm : { ...rpm, effective: unfunded },
    tpm: value("tpm", usage?.tokens),
    concurrency: value("concurrency", usage?.inFlight),
  };
}

/** A dedicated endpoint: what the operator set for it, which the customer cannot change. */
export function shownEndpointRow(
  { providerId, limits }: EndpointRecord,
  usage: ScopeUsage | undefined,
): LimitsRow {
  const value = (word: Word, used: number | undefined): LimitValue => {
    const limit = limits[LIMIT_NAMES[word]] ?? null;
    const source = limit === null ? null : "contract";
    return { ceiling: limit, own: null, effective: limit, source, used: used ?? null };
  };
  return {
    scope: "endpoint",
    key_id: null,
    name: providerId,
    model: null,
    rpm: value("rpm", usage?.requests),
    tpm: value("tpm", usage?.tokens),
    concurrency: value("concurrency", usage?.inFlight),
  };
}
