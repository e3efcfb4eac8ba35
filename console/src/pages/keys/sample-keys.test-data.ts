import type { Key } from "../../api/contract.ts";

/** Makes an active key without caps. `some` replaces single fields. */
export function buildKey(some: Partial<Key> = {}): Key {
  return {
    key_id: "key_1",
    name: "Production",
    label: "tm_vk_012345",
    origin: "console",
    created_at: "2026-01-01T00:00:00.000Z",
    disabled_at: null,
    expires_at: null,
    is_expired: false,
    models: null,
    last_used_at: null,
    old_works_until: null,
    rpm_ceiling: 300,
    rpm: null,
    rpm_effective: 300,
    cap_usd: null,
    spent_month_usd: "0.000000",
    cap_week_usd: null,
    spent_week_usd: null,
    cap_day_usd: null,
    spent_day_usd: null,
    tags: [],
    ...some,
  };
}
