import {
  type KeySummary,
  type LimitDefaults,
  type LimitedKey,
  limitRows,
  type StoredLimit,
} from "../../gateway/index.ts";
import {
  assert,
  capsInUsd,
  formatUsd,
  instantOrNull,
  isManagedOrigin,
  type MicroUsd,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { PeriodSpend } from "../../ledger/index.ts";
import { present } from "./present.ts";
import { Key } from "./contract/keys.ts";

export interface LimitContext {
  readonly limits: readonly StoredLimit[];
  readonly isFunded: boolean;
  readonly limitDefaults: LimitDefaults;
}

export interface ShownActivity {
  readonly lastUsedAtMs: number | null;
  readonly spentMonthMicroUsd: MicroUsd;
  readonly periods: readonly PeriodSpend[];
  readonly nowMs: number;
}

/** Shows a customer's key; of its secret, only the label. */
export function presentKey(
  key: KeySummary,
  context: LimitContext,
  { lastUsedAtMs, spentMonthMicroUsd, periods, nowMs }: ShownActivity,
): Key {
  const [row] = limitRows(limitedKey(key, context), undefined, context.limitDefaults);
  const ceiling = row?.ceilings.requestsPerMinute ?? key.requestsPerMinuteCeiling;
  const own = row?.self.requestsPerMinute ?? null;
  const held = row?.limits.requestsPerMinute ?? ceiling;
  /** Null for a period without a cap: nothing is counted for it. */
  const spentIn = (period: PeriodSpend["period"]): string | null => {
    const { spentMicroUsd = ZERO_MICRO_USD } = periods.find((each) => each.period === period) ?? {};
    return key.caps[period] === null ? null : formatUsd(spentMicroUsd);
  };
  return present(Key, key, {
    origin: presentOrigin(key.origin),
    is_expired: isExpired(key, nowMs),
    last_used_at: instantOrNull(lastUsedAtMs),
    old_works_until: instantOrNull(oldSecretEndMs(key, nowMs)),
    rpm_ceiling: ceiling,
    rpm: own,
    rpm_effective: Math.min(held, row?.unfundedRequestsPerMinute ?? held),
    ...capsInUsd(key.caps),
    spent_month_usd: formatUsd(spentMonthMicroUsd),
    spent_week_usd: spentIn("week"),
    spent_day_usd: spentIn("day"),
  });
}

/** Null if only the newest secret works. */
function oldSecretEndMs(key: KeySummary, nowMs: number): number | null {
  if (key.oldUntilMs === null || !isActive(key, nowMs)) return null;
  const endMs = Math.min(key.oldUntilMs, key.expiresAtMs ?? key.oldUntilMs);
  return endMs > nowMs ? endMs : null;
}

export function isExpired(
  { expiresAtMs }: Pick<KeySummary, "expiresAtMs">,
  nowMs: number,
): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}

export function isActive(
  key: Pick<KeySummary, "disabledAtMs" | "expiresAtMs">,
  nowMs: number,
): boolean {
  return key.disabledAtMs === null && !isExpired(key, nowMs);
}

export function limitedKey(
  key: Pick<KeySummary, "orgId" | "keyId" | "origin" | "requestsPerMinuteCeiling">,
  { limits, isFunded }: LimitContext,
): LimitedKey {
  return {
    orgId: key.orgId,
    keyId: key.keyId,
    keyOrigin: key.origin,
    requestsPerMinuteCeiling: key.requestsPerMinuteCeiling,
    funded: isFunded,
    rules: { limits },
  };
}

export function presentOrigin(origin: KeySummary["origin"]): Key["origin"] {
  assert(!isManagedOrigin(origin), "a managed key is never displayed");
  return origin;
}
