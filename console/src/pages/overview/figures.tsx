import { SimpleGrid } from "@mantine/core";
import type { ReactElement } from "react";

import type { Overview } from "../../../../src/console-api/contract.ts";
import { useSession } from "../../api/use-session.ts";
import { formatCount, formatMs, formatShare } from "../../ui/count.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import { Money } from "../../ui/money.tsx";
import { showCents, showUsd } from "../../ui/money-math.ts";
import { showUtc } from "../../ui/time.tsx";

/** The headline figures: money first, then the last 24 hours. */
export function Figures({ overview }: { readonly overview: Overview }): ReactElement {
  const { balance } = useSession();
  const { last_24h: day, org_cap_usd, cap_reset_at } = overview;
  const reset = showUtc(cap_reset_at, "day");
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }} spacing="md">
      {balance === null ? null : (
        <FigureCard
          label="Balance available"
          value={<Money usd={balance.available_usd} headline />}
          hint={`${showUsd(balance.held_usd)} held for requests in progress`}
        />
      )}
      <FigureCard
        label="Spent this month"
        value={<Money usd={overview.spent_month_usd} headline />}
        hint={
          org_cap_usd === null
            ? `No monthly cap · resets on ${reset}`
            : `of ${showCents(org_cap_usd)} monthly cap · resets on ${reset}`
        }
      />
      <FigureCard
        label="Requests, 24 hours"
        value={formatCount(day.requests)}
        hint={day.requests === 0 ? "None yet" : endings(day)}
      />
      <FigureCard
        label="Time to first token, 24 hours"
        value={formatMs(day.ttft_p50_ms)}
        hint={
          day.ttft_p95_ms === null
            ? "p50, once there are answers"
            : `p50 · p95 ${formatMs(day.ttft_p95_ms)}`
        }
      />
    </SimpleGrid>
  );
}

/** What did not succeed, each by its own name: a rejected request is none that failed. */
function endings({ requests, by_status }: Overview["last_24h"]): string {
  const rejected = by_status.rejected_by_gateway + by_status.rejected_by_provider;
  const failed = `${formatShare(by_status.failed / requests)} failed (${formatCount(by_status.failed)})`;
  return rejected === 0 ? failed : `${failed} · ${formatCount(rejected)} rejected`;
}
