import { Checkbox, Group, Stack } from "@mantine/core";
import { useMemo, type ReactElement } from "react";

import type { Provider } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMaybeSession } from "../../api/use-session.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import kit from "../../ui/kit.module.css";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import type { Kept } from "../../ui/use-table-state.ts";
import { countryNames, loggingLabel } from "../models/model-labels.ts";
import styles from "../models/models.module.css";
import { TrustSummary } from "../verification/trust-summary.tsx";
import { countTrust, type TrustCount } from "../verification/verification-labels.ts";
import { PolicyLinks } from "./policy-links.tsx";
import { ProviderStatus } from "./provider-status.tsx";

const REFRESH_MS = 30_000;

type ProviderSearch = Readonly<Partial<Record<"q" | "logging", string | undefined>>>;

/** The providers that serve requests, with their current status. Open to every visitor. */
export function ProvidersPage(): ReactElement {
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
        <Answer of={providers} skeleton={<Loading rows={7} />}>
          {({ providers: all }) => <ProviderList providers={all} />}
        </Answer>
      </Panel>
    </Page>
  );
}

function ProviderList({ providers }: { readonly providers: readonly Provider[] }): ReactElement {
  const [search, change] = useFilters<ProviderSearch>();
  const q = (search.q ?? "").toLowerCase();
  const isSignedIn = useMaybeSession()?.state === "signed_in";
  const columns = useMemo(() => columnsFor(providers, isSignedIn), [providers, isSignedIn]);
  const asked = { enabled: isSignedIn };
  const trusts = useAnswer("GET /api/console/verification", undefined, asked).data?.listings;
  const found = useMemo(
    () =>
      providers
        .filter(
          ({ id, name, prompt_logging }) =>
            `${id} ${name}`.toLowerCase().includes(q) &&
            (search.logging !== "none" || prompt_logging === "none"),
        )
        .map((each) => ({ ...each, trust: trusts && countTrust(trusts, each.id) })),
    [providers, trusts, q, search.logging],
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
          checked={search.logging === "none"}
          onChange={(event) =>
            change({ logging: event.currentTarget.checked ? "none" : "" }, { history: "step" })
          }
        />
      </Group>
      <DataTable
        caption="Providers"
        kept={KEPT}
        columns={columns}
        rows={found}
        rowKey={({ id }) => id}
        empty={
          <Empty
            title={
              providers.length === 0
                ? "No providers yet. The operator adds them with a manifest."
                : "No providers match these filters."
            }
          />
        }
      />
    </Stack>
  );
}

const KEPT: Kept = { id: "providers", rows: ["provider", "providers"] };

type Row = Provider & { readonly trust: TrustCount | undefined };

/** For signed-in readers only. */
const VERIFIED = "verified";

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "name",
    label: "Provider",
    sortValue: ({ name }) => name,
    render: ({ id, name }) => (
      <AppLink
        to="/providers/$providerId"
        params={{ providerId: id }}
        size="sm"
        fw={500}
        className={styles.nowrap}
      >
        {name}
      </AppLink>
    ),
  },
  {
    id: "status",
    label: "Status now",
    sortValue: ({ status }) => ["healthy", "cooling", "open"].indexOf(status),
    render: ({ status }) => <ProviderStatus status={status} />,
  },
  {
    id: "models",
    label: "Models",
    align: "right",
    sortValue: ({ models }) => models.length,
    render: ({ models }) => formatCount(models.length),
  },
  {
    id: VERIFIED,
    label: "Verified listings",
    sortValue: ({ trust }) => trust?.verified ?? 0,
    render: ({ trust }) => (trust === undefined ? "–" : <TrustSummary count={trust} />),
  },
  {
    id: "success",
    label: "Success, 24 h",
    align: "right",
    sortValue: ({ success_24h }) => success_24h ?? -1,
    render: ({ success_24h }) => (
      <span className={kit.figures}>{success_24h === null ? "–" : formatShare(success_24h)}</span>
    ),
  },
  {
    id: "ttft",
    label: "First token, p50",
    align: "right",
    sortValue: ({ ttft_p50_ms }) => ttft_p50_ms ?? Number.MAX_SAFE_INTEGER,
    render: ({ ttft_p50_ms }) => <span className={kit.figures}>{formatMs(ttft_p50_ms)}</span>,
  },
  {
    id: "logging",
    label: "Prompt logging",
    sortValue: ({ prompt_logging }) => prompt_logging,
    render: (provider) => {
      const { tone, word } = loggingLabel([provider]);
      return <StatusBadge tone={tone}>{word}</StatusBadge>;
    },
  },
  {
    id: "datacenters",
    label: "Data centers",
    sharePercent: 20,
    render: ({ datacenters }) => countryNames(datacenters),
  },
  {
    id: "policies",
    label: "Policies",
    shownFrom: "wide",
    render: (provider) => <PolicyLinks provider={provider} />,
  },
];

/** How providers served all customers: only where the operator shows it. */
const FIGURES: ReadonlySet<string> = new Set(["success", "ttft"]);

/** The columns that say something to this reader. */
function columnsFor(providers: readonly Provider[], isSignedIn: boolean): readonly Column<Row>[] {
  const hasFigures = providers.some(({ success_24h: success }) => success !== null);
  return COLUMNS.filter(
    ({ id }) => (isSignedIn || id !== VERIFIED) && (hasFigures || !FIGURES.has(id)),
  );
}
