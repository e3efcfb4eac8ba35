import type { KeySummary, ReportFilter } from "../../gateway/index.ts";
import {
  defined,
  isManagedOrigin,
  type ManagedOrigin,
  type OrgId,
  REQUEST_STATUSES,
  type RequestStatus,
} from "../../kernel/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { UsageFilters } from "./contract.ts";

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
  const model = splitValues(filters.model);
  const provider = splitValues(filters.provider);
  const key = splitValues(filters.key);
  const status = splitValues(filters.status);
  const statuses = status?.filter(isStatus);
  const lists = defined({ modelIds: model, providerIds: provider, statuses });
  return { orgId, fromMs, toMs, ...lists, ...(key === undefined ? {} : keyFilter(key)) };
}

/**
 * Restricts the filter to keys that have one of the tags. Requests store no tags, so the tags that
 * a key has now apply to all its requests. Managed keys have none.
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

/** Splits the values of one filter. The contract's schema has already limited their number. */
function splitValues(text: string | undefined): readonly string[] | undefined {
  return text === undefined ? undefined : [...new Set(text.split(","))];
}

function isStatus(value: string): value is RequestStatus {
  return Object.hasOwn(REQUEST_STATUSES, value);
}

function keyFilter(keys: readonly string[]): Pick<ReportFilter, "keyIds" | "managed"> {
  const managed = keys.filter((key): key is ManagedOrigin => isManagedOrigin(key));
  const keyIds = keys.filter((key) => !isManagedOrigin(key));
  return {
    ...(managed.length === 0 ? {} : { managed }),
    ...(keyIds.length === 0 ? {} : { keyIds }),
  };
}
