import { SimpleGrid } from "@mantine/core";

import type { Overview, RefusalCause, UsageFigures } from "../../api/contract.ts";
import { useSession } from "../../api/use-answer.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { ChangeMark, FigureCard } from "../../ui/figure-card.tsx";
import type { Amount, Unit } from "../../ui/charts/measure.ts";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import { Money } from "../../ui/money.tsx";
import { parseUsd, computeShare, showCents, showUsd } from "../../ui/money-math.ts";
import { showUtc } from "../../ui/time.tsx";
import { ShareBar } from "../limits/used-bar.tsx";
import { countRejected } from "../usage/outcome-labels.ts";

export function Figures({ overview }: { readonly overview: Overview }) {
  const { balance } = useSession();
  const { last_24h: day, before, org_cap_usd, cap_reset_at } = overview;
  const reset = showUtc(cap_reset_at, "day");
  return (
    <SimpleGrid cols={{ base: 2, lg: 5 }} spacing="md">
      {balance === null ? null : (
        <FigureCard
          label="Balance available"
          value={<Money usd={balance.available_usd} headline />}
          hint={<BalanceHint heldUsd={balance.held_usd} lasts={overview.lasts} />}
        />
      )}
      <FigureCard
        label="Spent this month"
        value={<Money usd={overview.spent_month_usd} headline />}
        change={
          <ChangeMark
            unit="usd"
            now={overview.spent_month_usd}
            before={before.spent_month_usd}
            than="at this point of last month"
          />
        }
        hint={
          org_cap_usd === null ? (
            `No monthly cap · resets on ${reset}`
          ) : (
            <>
              of {showCents(org_cap_usd)} monthly cap · resets on {reset}
              <ShareBar share={computeShare(overview.spent_month_usd, org_cap_usd)} />
            </>
          )
        }
      />
      <FigureCard
        label="Requests, 24 h"
        value={formatCount(day.requests)}
        change={<DayChange unit="count" overview={overview} of={({ requests }) => requests} />}
        hint={day.requests === 0 ? "None yet" : endings(day)}
      />
      <FigureCard
        label="Rejected, 24 h"
        value={formatCount(countRejected(day))}
        change={<DayChange unit="count" overview={overview} of={countRejected} />}
        hint={<Causes overview={overview} />}
      />
      <FigureCard
        label="First token, 24 h"
        value={formatMs(day.ttft_p50_ms)}
        change={<DayChange unit="ms" overview={overview} of={({ ttft_p50_ms }) => ttft_p50_ms} />}
        hint={
          day.ttft_p95_ms === null
            ? "p50, once there are answers"
            : `p50 · p95 ${formatMs(day.ttft_p95_ms)}`
        }
      />
    </SimpleGrid>
  );
}

function BalanceHint(props: { readonly heldUsd: string; readonly lasts: Overview["lasts"] }) {
  const { heldUsd, lasts } = props;
  const pace = lasts === null ? undefined : `at ${showCents(lasts.per_day_usd)} a day`;
  return (
    <>
      {parseUsd(heldUsd) === 0n ? "Nothing is" : showUsd(heldUsd)} held for requests in progress
      {lasts === null ? null : (
        <div>
          {lasts.until === null
            ? `Lasts more than a year ${pace}`
            : `Lasts until about ${showUtc(lasts.until, "day")} ${pace}`}
        </div>
      )}
    </>
  );
}

function DayChange(props: {
  readonly unit: Unit;
  readonly overview: Overview;
  readonly of: (day: UsageFigures) => Amount;
}) {
  const { last_24h: now, before } = props.overview;
  const was = before.last_24h === null ? undefined : props.of(before.last_24h);
  return (
    <ChangeMark unit={props.unit} now={props.of(now)} before={was} than="in the 24 hours before" />
  );
}

function endings(day: UsageFigures): string {
  const { failed } = day.by_status;
  const sent = day.requests - countRejected(day);
  if (sent === 0) return "All rejected";
  return `${formatShare(failed / sent)} failed (${formatCount(failed)})`;
}

/** Counts rejections by cause: the most frequent ones, then all others. Links to the requests. */
function Causes({ overview }: { readonly overview: Overview }) {
  const { last_24h, rejected_for: causes } = overview;
  const all = countRejected(last_24h);
  if (all === 0) return <>None</>;
  const { rejected_by_provider: byProvider } = last_24h.by_status;
  const parts = [
    ...causes.map(({ cause, requests }) => ({ requests, words: CAUSES[cause] })),
    ...(byProvider === 0 ? [] : [{ requests: byProvider, words: "by providers" }]),
  ].toSorted((a, b) => b.requests - a.requests);
  const shown = parts.slice(0, parts.length > CAUSES_SHOWN ? CAUSES_SHOWN - 1 : CAUSES_SHOWN);
  const rest = all - shown.reduce((sum, { requests }) => sum + requests, 0);
  const status = "rejected_by_gateway,rejected_by_provider";
  return (
    <AppLink to="/usage" search={{ status }}>
      {[...shown, ...(rest > 0 ? [{ requests: rest, words: "for other causes" }] : [])]
        .map(({ requests, words }) => `${formatCount(requests)} ${words}`)
        .join(" · ")}
    </AppLink>
  );
}

const CAUSES_SHOWN = 3;
const CAUSES: Readonly<Record<RefusalCause, string>> = {
  balance: "out of credit",
  held: "with credit on hold for other requests",
  org_cap: "over the organization's cap",
  key_cap: "over a key's cap",
  limit: "over a rate limit",
  unusual_use: "for unusual use",
  provider: "with no provider available",
  request: "invalid or for a model that is not available",
};
