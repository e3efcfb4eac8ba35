import { Checkbox, Group, Stack } from "@mantine/core";
import { useMemo } from "react";

import type { Provider, ProviderFigures } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { checkable } from "../../ui/fields.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { numberColumn, column } from "../../ui/columns.tsx";
import { formatCount, formatMs, formatPart, formatShare } from "../../ui/format.ts";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import { NameLine } from "../../ui/name-line.tsx";
import { Page, Panel } from "../../ui/page.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { LoggingBadge } from "../models/model-badges.tsx";
import { countryNames } from "../models/model-labels.ts";
import { useIsSignedIn, useServed } from "../models/use-served.ts";
import { TrustSummary, useTrusts } from "../verification/trust-badges.tsx";
import { countTrust, type TrustCount } from "../verification/verification-labels.ts";
import { PolicyLinks, ProviderStatus } from "./provider-status.tsx";

const REFRESH_MS = 30_000;

type ProviderSearch = Readonly<Partial<Record<"q" | "logging", string | undefined>>>;

export function ProvidersPage() {
  const providers = useAnswer("GET /api/providers.json", undefined, { refetchMs: REFRESH_MS });
  return (
    <Page
      title="Providers"
      isWide
      lead={
        <>
          Who answers requests to the <AppLink to="/models">models</AppLink>, and their current
          status. <AppLink to="/for-providers">List your endpoint</AppLink>.
        </>
      }
    >
      <Panel>
        <Answer of={providers} rows={7}>
          {({ providers: all }) => <ProviderList providers={all} />}
        </Answer>
      </Panel>
    </Page>
  );
}

function ProviderList({ providers }: { readonly providers: readonly Provider[] }) {
  const [search, change] = useFilters<ProviderSearch>();
  const q = (search.q ?? "").toLowerCase();
  const isSignedIn = useIsSignedIn();
  const served = useServed();
  const columns = useMemo(() => columnsFor(served !== undefined, isSignedIn), [served, isSignedIn]);
  const trusts = useTrusts();
  const found = useMemo(
    () =>
      providers
        .filter(
          ({ id, name, prompt_logging }) =>
            `${id} ${name}`.toLowerCase().includes(q) &&
            (search.logging !== "none" || prompt_logging === "none"),
        )
        .map((each) => ({
          ...each,
          trust: trusts && countTrust(trusts, each.id),
          figures: served?.providers.get(each.id),
        })),
    [providers, trusts, served, q, search.logging],
  );
  return (
    <Stack gap="md">
      <Group gap="md">
        <SearchField
          label="Search providers"
          value={search.q ?? ""}
          onChange={(text) => change({ q: text }, { history: "typed" })}
        />
        <Checkbox
          label="No prompt logging"
          {...checkable(search.logging === "none", (isOn) =>
            change({ logging: isOn ? "none" : "" }, { history: "step" }),
          )}
        />
      </Group>
      <DataTable
        caption="Providers"
        kept={KEPT}
        columns={columns}
        rows={found}
        rowKey={({ id }) => id}
        empty={
          providers.length === 0
            ? "No providers yet. The operator adds them with a manifest."
            : "No providers match these filters."
        }
      />
    </Stack>
  );
}

const KEPT: Kept = { id: "providers", rows: ["provider", "providers"] };

type Row = Provider & {
  readonly trust: TrustCount | undefined;
  readonly figures: ProviderFigures | undefined;
};

const VERIFIED = "verified";

const SERVED = { phone: "line", isSortable: true } as const;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    label: "Provider",
    sharePercent: 30,
    phone: "lead",
    sortValue: ({ name }) => name,
    render: ({ id, name, models, datacenters }) => (
      <NameLine
        of={id}
        name={name}
        link={{ to: "/providers/$providerId", params: { providerId: id }, fw: 500 }}
        note={[
          models.length === 1 ? "1 model" : `${formatCount(models.length)} models`,
          ...(datacenters.length === 0 ? [] : [`runs in ${countryNames(datacenters)}`]),
        ].join(", ")}
      />
    ),
  },
  column("status", "Status now", ({ status }) => <ProviderStatus status={status} />, {
    phone: "end",
    sortValue: ({ status }) => ["healthy", "cooling", "open"].indexOf(status),
  }),
  column(
    VERIFIED,
    "Verified listings",
    ({ trust }) => (trust === undefined ? "–" : <TrustSummary count={trust} />),
    { sortValue: ({ trust }) => trust?.verified ?? 0 },
  ),
  numberColumn("uptime", "Uptime", ({ figures }) => figures?.uptime, {
    show: formatShare,
    ...SERVED,
  }),
  numberColumn("ttft", "First token", ({ figures }) => figures?.ttft_p50_ms, {
    show: formatMs,
    ...SERVED,
  }),
  numberColumn("speed", "Tokens / s", ({ figures }) => figures?.tokens_per_second, SERVED),
  numberColumn("share", "Share of calls", ({ figures }) => figures?.share_of_calls, {
    show: formatPart,
    ...SERVED,
  }),
  {
    id: "logging",
    label: "Prompt logging",
    sortValue: ({ prompt_logging }) => prompt_logging,
    render: (provider) => <LoggingBadge listings={[provider]} />,
  },
  column("policies", "Policies", (provider) => <PolicyLinks provider={provider} />, {
    shownFrom: "wide",
  }),
];

const FIGURES: ReadonlySet<string> = new Set(["uptime", "ttft", "speed", "share"]);

function columnsFor(hasFigures: boolean, isSignedIn: boolean): readonly Column<Row>[] {
  return COLUMNS.filter(
    ({ id }) => (isSignedIn || id !== VERIFIED) && (hasFigures || !FIGURES.has(id)),
  );
}
