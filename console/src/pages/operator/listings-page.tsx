import { Checkbox, Group, Stack } from "@mantine/core";
import { useMemo } from "react";

import type { OperatorListing } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { checkable } from "../../ui/fields.ts";
import { Answer } from "../../ui/answer.tsx";
import { StatusBadge, type Tone } from "../../ui/badge.tsx";
import { timeColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Panel } from "../../ui/page.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { OperatorPage } from "./operator-frame.tsx";

const REFRESH_MS = 10_000;

export function OperatorListingsPage() {
  const found = useAnswer("GET /api/operator/listings", undefined, { refetchMs: REFRESH_MS });
  return (
    <OperatorPage
      title="Listings"
      lead="Circuits and pools as seen by the instance that answered. Other instances may differ for a few seconds."
    >
      <Panel>
        <Answer of={found} rows={12}>
          {({ data }) => <Listings listings={data} />}
        </Answer>
      </Panel>
    </OperatorPage>
  );
}

function Listings({ listings }: { readonly listings: readonly OperatorListing[] }) {
  const [search, change] = useFilters<{ q?: string; trouble?: string }>();
  const q = (search.q ?? "").toLowerCase();
  const isTroubleOnly = search.trouble === "yes";
  const shown = useMemo(
    () =>
      listings.filter(
        (each) =>
          `${each.listing_id} ${each.provider_name} ${each.pool}`.toLowerCase().includes(q) &&
          (!isTroubleOnly || hasTrouble(each)),
      ),
    [listings, q, isTroubleOnly],
  );
  return (
    <Stack gap="md">
      <Group gap="md">
        <SearchField
          label="Search listings"
          value={search.q ?? ""}
          onChange={(text) => change({ q: text }, { history: "typed" })}
        />
        <Checkbox
          label="Only with problems"
          {...checkable(isTroubleOnly, (isOn) =>
            change({ trouble: isOn ? "yes" : "" }, { history: "step" }),
          )}
        />
      </Group>
      <DataTable
        caption="Listings"
        columns={COLUMNS}
        rows={shown}
        rowKey={({ listing_id: id }) => id}
        empty="No listings match these filters."
      />
    </Stack>
  );
}

function hasTrouble(listing: OperatorListing): boolean {
  return (
    listing.circuit !== "closed" ||
    listing.pool_cooldown_seconds > 0 ||
    listing.pool_usable_percent < 100 ||
    listing.verdict === "failed" ||
    listing.suspect_since !== null
  );
}

const CIRCUITS: Readonly<Record<OperatorListing["circuit"], readonly [Tone, string]>> = {
  closed: ["ok", "Closed"],
  probing: ["warn", "Half-open"],
  open: ["bad", "Open"],
};

const VERDICTS: Readonly<Record<OperatorListing["verdict"], readonly [Tone, string]>> = {
  verified: ["ok", "Verified"],
  verified_in_part: ["warn", "Verified in part"],
  failed: ["bad", "Failed"],
  changed: ["warn", "Changed since"],
  expired: ["warn", "Expired"],
  unchecked: ["quiet", "Unchecked"],
};

const COLUMNS: readonly Column<OperatorListing>[] = [
  column("listing", "Provider and model", ({ provider_name: name, model }) => `${name}: ${model}`, {
    sortValue: ({ listing_id: id }) => id,
  }),
  column(
    "routed",
    "Routed",
    ({ not_routed: why }) => (why === null ? "Yes" : `No: ${why.replaceAll("_", " ")}`),
    { sortValue: ({ not_routed: why }) => why ?? "" },
  ),
  column("circuit", "Circuit", ({ circuit }) => <Mark of={CIRCUITS[circuit]} />, {
    sortValue: ({ circuit }) => circuit,
  }),
  column("pool", "Pool", poolText, {
    sortValue: ({ pool_usable_percent: percent }) => percent,
  }),
  column(
    "verdict",
    "Verdict",
    ({ verdict, suspect_since: suspect }) => (
      <Mark of={suspect === null ? VERDICTS[verdict] : ["bad", "Suspect"]} />
    ),
    { sortValue: ({ verdict }) => verdict },
  ),
  timeColumn("checked", "Checked", ({ checked_at: at }) => at, {
    precision: "day",
    otherwise: "Never",
    sortValue: ({ checked_at: at }) => at ?? "",
  }),
];

function Mark({ of: [tone, label] }: { readonly of: readonly [Tone, string] }) {
  return <StatusBadge tone={tone}>{label}</StatusBadge>;
}

function poolText(listing: OperatorListing): string {
  const { pool_cooldown_seconds: seconds, pool_usable_percent: percent } = listing;
  return seconds > 0 ? `Cools down for ${seconds} s` : `${percent}% usable`;
}
