import { useMemo, type ReactNode } from "react";

import type { KeyDetail } from "../../../../src/account/console-api/contract.ts";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { Panel } from "../../ui/panel.tsx";
import { showUtc } from "../../ui/time.tsx";

/** The spend of a key on each of the last 30 UTC days. */
export function KeySpendPanel({ days }: { readonly days: KeyDetail["days"] }): ReactNode {
  const buckets = useMemo(
    () =>
      days.map(({ day, spent_usd: spent }) => {
        const label = showUtc(day, "day");
        return { id: day, label, tick: label.replace(/ \d{4}$/, ""), values: { spent } };
      }),
    [days],
  );
  return (
    <Panel title="Spend by day">
      <StackedBars
        label="Spend with this key by UTC day"
        unit="usd"
        parts={PARTS}
        buckets={buckets}
        bucketLabel="Day (UTC)"
        heightPx={180}
      />
    </Panel>
  );
}

const PARTS = [{ id: "spent", name: "Spent", isWhole: true }];
