import { createHash } from "node:crypto";

import type { ChangedBy } from "../../kernel/index.ts";
import { wholePeriod } from "./settlement-entries.ts";
import type { ProviderClaim } from "./settlement-file.ts";
import { reconcile, type Reconciliation } from "./settlement-reconcile.ts";
import type { ProviderPeriod } from "./settlement-store.ts";
import type { SettlementStore } from "./postgres-settlement-store.ts";

/**
 * Compares a provider's own statement with a closed period and keeps the comparison with it, once
 * per file. Rejects with `SettlementFault` when attempts of the period were retired.
 */
export async function compareStatement(
  store: Pick<SettlementStore, "entries" | "recordClaim">,
  of: {
    readonly period: ProviderPeriod;
    readonly claim: ProviderClaim;
    /** The file that the claim was read from. */
    readonly bytes: Uint8Array;
  },
  by: ChangedBy,
): Promise<Reconciliation> {
  const { period, claim, bytes } = of;
  const { providerId, startMs } = period;
  const entries = wholePeriod(period, store.entries(period));
  const comparison = await reconcile(claim, period.sums.costPicoUsd, entries);
  const sha256 = createHash("sha256").update(bytes).digest();
  await store.recordClaim({ providerId, startMs, sha256, comparison }, by);
  return comparison;
}
