import { CHECK_IDS, type ConformanceReport } from "../listing-tools/index.ts";
import type { ListingVerdict } from "../gateway/index.ts";

/**
 * The part of a report that is stored: a verdict for each model that all checks were run on. A run
 * that was ended early has none, and one of some checks says nothing about the listing as a whole.
 */
export function toVerdicts(
  report: ConformanceReport,
  source: ListingVerdict["source"],
): readonly ListingVerdict[] {
  if (!report.is_complete) return [];
  const whole = report.models.filter(({ checks }) => checks.length === CHECK_IDS.length);
  return whole.map(({ id, upstream_id: upstreamModelId, verdict, checks }) => ({
    providerId: report.provider,
    modelId: id,
    upstreamModelId,
    manifestSha256: report.manifest_sha256,
    verdict,
    checkedAtMs: Date.parse(report.started_at),
    source,
    checks,
  }));
}
