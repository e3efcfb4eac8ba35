import { Stack } from "@mantine/core";
import { useMemo, useState } from "react";

import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { actionsColumn, column, moneyColumn, timeColumn } from "../../ui/columns.tsx";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import { parseUsd, computeShare, writeUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { SearchField, useSearchText } from "../../ui/search-field.tsx";
import { capRows, type Cap, type CapRow, PERIOD_NAMES } from "../keys/caps.ts";
import { EditCapDialog } from "./edit-cap-dialog.tsx";
import { EditButton, QuietNote } from "./limit-panel.tsx";
import { tellingCaps } from "./limit-change.ts";
import { ShareBar } from "./used-bar.tsx";

export function CapPanel({ caps }: { readonly caps: readonly Cap[] }) {
  const keys = useAnswer("GET /api/console/keys", undefined, { refetchMs: REFRESH_MS });
  return (
    <Panel title="Caps">
      <Answer of={keys} rows={3}>
        {({ data, ...resets }) => <CapTable rows={capRows(caps, { ...resets, keys: data })} />}
      </Answer>
    </Panel>
  );
}

function CapTable(props: { readonly rows: readonly CapRow[] }) {
  const [edited, setEdited] = useState<CapRow>();
  const [filters, setFilters] = useFilters<{ cap?: string; caps?: string }>();
  const [search, setSearch] = useSearchText(filters.cap, (text) => setFilters({ cap: text }));
  const { rows: telling, quiet } = useMemo(() => tellingCaps(props.rows), [props.rows]);
  const isAll = filters.caps !== undefined;
  const shown = (isAll || search !== "" ? props.rows : telling).filter(({ name }) =>
    name.toLowerCase().includes(search.toLowerCase()),
  );
  const columns = useMemo(() => buildColumns(setEdited), []);
  return (
    <>
      <Stack gap="md">
        <Note>
          No request can exceed a cap. Months, weeks (from Monday), and days are in UTC. The maximum
          cost of requests in progress is included, and the strictest cap applies.
        </Note>
        {props.rows.length > SEARCHED_FROM ? (
          <SearchField label="Key with a cap" value={search} onChange={setSearch} />
        ) : null}
        <DataTable
          caption="Caps of the organization and its keys"
          columns={columns}
          rows={shown}
          rowKey={({ key_id: id, period }) => `${id ?? "organization"} ${period}`}
          empty="No keys match this search."
          kept={KEPT}
        />
        {search === "" ? (
          <QuietNote
            {...{ quiet, isAll }}
            have="no cap"
            onChange={(to) => setFilters({ caps: to ? "all" : "" })}
          />
        ) : null}
      </Stack>
      <EditCapDialog edited={edited} onClose={() => setEdited(undefined)} />
    </>
  );
}

/** Milliseconds between two reads of the caps. The page reads the limits at the same interval. */
const REFRESH_MS = 10_000;
/** Number of caps above which a search field appears. */
const SEARCHED_FROM = 10;

const KEPT: Kept = { id: "caps", rows: ["cap", "caps"], prefix: "caps_" };

function buildColumns(onEdit: (cap: CapRow) => void): readonly Column<CapRow>[] {
  return [
    column("scope", "Scope", ({ scope }) => (scope === "org" ? "Organization" : "Key")),
    column("name", "For", (cap) => <CapName cap={cap} />, {
      phone: "lead",
      sortValue: (cap) => cap.name,
    }),
    column(
      "period",
      "Period",
      ({ period, capUsd }) => (capUsd === null ? "–" : PERIOD_NAMES[period]),
      { phone: "line", sortValue: ({ period, capUsd }) => (capUsd === null ? "" : period) },
    ),
    moneyColumn("cap", "Cap", ({ capUsd: usd }) => usd, {
      isBrief: true,
      otherwise: "No cap",
      sortValue: ({ capUsd: usd }) => (usd === null ? -1n : parseUsd(usd)),
      phone: "line",
    }),
    {
      id: "spent",
      label: "Spent in the period",
      align: "right",
      render: ({ capUsd, spentUsd, period }) => (
        <>
          <Money usd={spentUsd} isBrief />
          {capUsd === null ? <Note size="xs">this {period}</Note> : null}
        </>
      ),
      sortValue: ({ spentUsd }) => parseUsd(spentUsd),
    },
    moneyColumn(
      "flight",
      "In progress",
      ({ inFlightUsd: usd }) => (parseUsd(usd) === 0n ? null : usd),
      { isBrief: true, sortValue: ({ inFlightUsd }) => parseUsd(inFlightUsd) },
    ),
    column("left", "Left", (cap) => <Left cap={cap} />, {
      align: "right",
      phone: "line",
      sortValue: ({ leftUsd }) => (leftUsd === undefined ? 1n << 62n : parseUsd(leftUsd)),
    }),
    timeColumn("reset", "Resets", ({ capUsd, resetAt }) => (capUsd === null ? null : resetAt), {
      precision: "day",
      shownFrom: "wide",
    }),
    actionsColumn(
      (cap) => (
        <EditButton
          // The organization's cap needs the right to manage billing.
          need={cap.key_id === null ? "billing" : "keys"}
          label={`Edit the ${PERIOD_NAMES[cap.period].toLowerCase()} cap of ${cap.name}`}
          onClick={() => onEdit(cap)}
        />
      ),
      { phone: "end" },
    ),
  ];
}

function CapName({ cap }: { readonly cap: CapRow }) {
  if (cap.key_id === null) return cap.name;
  return (
    <AppLink to="/keys/$keyId" params={{ keyId: cap.key_id }} fw={500}>
      {cap.name}
    </AppLink>
  );
}

function Left({ cap: { leftUsd, capUsd } }: { readonly cap: CapRow }) {
  if (leftUsd === undefined || capUsd === null) return "–";
  const used = writeUsd(parseUsd(capUsd) - parseUsd(leftUsd));
  return (
    <div style={{ minWidth: 110 }}>
      <Money usd={leftUsd} isBrief />
      <ShareBar share={parseUsd(capUsd) === 0n ? 1 : computeShare(used, capUsd)} />
    </div>
  );
}
