import { formatUsd, instant, showTokens } from "../../kernel/index.ts";
import type {
  ReportBucket,
  ReportFigures,
  ReportFilter,
  UsageReport,
} from "../../gateway/index.ts";
import type { Usage, UsageFigures } from "./contract.ts";

export function presentUsage(
  report: UsageReport,
  { fromMs, toMs }: Pick<ReportFilter, "fromMs" | "toMs">,
  nameOf: (group: string) => string,
): Usage {
  return {
    from: instant(fromMs),
    to: instant(toMs),
    totals: presentFigures(report.totals),
    bucket: report.bucket,
    series: report.series.map(presentBucket),
    groups: report.groups.map(({ group, figures }) => ({
      group,
      name: nameOf(group),
      figures: presentFigures(figures),
    })),
  };
}

export function presentFigures(figures: ReportFigures): UsageFigures {
  return {
    requests: figures.requests,
    by_status: figures.byStatus,
    spent_usd: formatUsd(figures.debitMicroUsd),
    tokens: showTokens(figures.usage),
    ttft_p50_ms: figures.firstByteP50Ms,
    ttft_p95_ms: figures.firstByteP95Ms,
  };
}

function presentBucket({
  atMs,
  parts,
  firstByteP50Ms,
  firstByteP95Ms,
}: ReportBucket): Usage["series"][number] {
  return {
    at: instant(atMs),
    parts: Object.fromEntries(
      [...parts].map(([group, part]) => [
        group,
        {
          requests: part.requests,
          by_status: part.byStatus,
          tokens: part.tokens,
          spent_usd: formatUsd(part.debitMicroUsd),
        },
      ]),
    ),
    ttft_p50_ms: firstByteP50Ms,
    ttft_p95_ms: firstByteP95Ms,
  };
}
