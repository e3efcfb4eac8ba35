import { CHECK_IDS, type ConformanceReport } from "../listing-tools/index.ts";
import type { ListingVerdict } from "../gateway/index.ts";

/**
 * The verdicts of a report that are stored: one for each model on which all checks ran. A run that
 * ended early has none, because a few checks do not suffice to judge a listing.
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
