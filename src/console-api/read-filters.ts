import { isManagedOrigin, type OrgId } from "../core/index.ts";
import type { ReportFilter } from "../records/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { UsageFilters } from "./contract.ts";

const DAY_MS = 86_400_000;
const RANGE_DAYS_MAX = 366;

/** The report that the filters of a page mean; without a range, the 24 hours up to now. */
export function readFilters(
  orgId: OrgId,
  filters: UsageFilters,
  nowMs: number,
): ReportFilter | ConsoleRefusal {
  const toMs = filters.to === undefined ? nowMs : Date.parse(filters.to);
  const fromMs = filters.from === undefined ? toMs - DAY_MS : Date.parse(filters.from);
  if (fromMs >= toMs) return invalidField("from", "from must be an instant before to");
  if (toMs - fromMs > RANGE_DAYS_MAX * DAY_MS) {
    return invalidField("from", `from and to may span ${RANGE_DAYS_MAX} days at most`);
  }
  const { model, provider, key, status } = filters;
  return {
    orgId,
    fromMs,
    toMs,
    ...(model === undefined ? {} : { modelId: model }),
    ...(provider === undefined ? {} : { providerId: provider }),
    ...(key === undefined ? {} : keyFilter(key)),
    ...(status === undefined ? {} : { statuses: [status] }),
  };
}

function keyFilter(key: string): Pick<ReportFilter, "keyId" | "managed"> {
  return isManagedOrigin(key) ? { managed: key } : { keyId: key };
}
