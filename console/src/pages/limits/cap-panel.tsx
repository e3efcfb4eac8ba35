import { Button, Stack, Text } from "@mantine/core";
import { useMemo, useState, type ReactNode } from "react";

import { useMay } from "../../api/use-may.ts";
import { useFilters } from "../../app/use-filters.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { parseUsd, shareOf, writeUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";
import type { Kept } from "../../ui/use-table-state.ts";
import { leftOf, type Cap } from "../keys/cap-left.ts";
import { useSearchText } from "../../app/use-search-text.ts";
import { EditCapDialog } from "./edit-cap-dialog.tsx";
import { QuietNote } from "./quiet-note.tsx";
import { tellingCaps } from "./quiet-rows.ts";
import { ShareBar } from "./used-bar.tsx";

/** The monthly caps of the organization and of its keys. */
export function CapPanel(props: {
  readonly caps: readonly Cap[];
  readonly resetAt: string;
}): ReactNode {
  const [edited, setEdited] = useState<Cap>();
  const [filters, setFilters] = useFilters<{
    cap: string | undefined;
    caps: string | undefined;
  }>();
  const [search, setSearch] = useSearchText(filters.cap, (text) =>
    setFilters({ cap: text === "" ? undefined : text }),
  );
  const { rows: telling, quiet } = useMemo(() => tellingCaps(props.caps), [props.caps]);
  const isAll = filters.caps !== undefined;
  const shown = (isAll || search !== "" ? props.caps : telling).filter(({ name }) =>
    name.toLowerCase().includes(search.toLowerCase()),
  );
  const columns = useMemo(() => columnsOf(setEdited), []);
  return (
    <Panel title="Monthly caps">
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          No request can exceed a cap. Caps cover the calendar month in UTC and reset on{" "}
          <Time at={props.resetAt} />. The maximum cost of requests in progress is included, and the
          strictest cap applies.
        </Text>
        {props.caps.length > SEARCHED_FROM ? (
          <SearchField label="Key with a cap" value={search} onChange={setSearch} />
        ) : null}
        <DataTable
          caption="Monthly caps of the organization and its keys"
          columns={columns}
          rows={shown}
          rowKey={(cap) => cap.key_id ?? "organization"}
          empty={<Empty title="No keys match this search." />}
          kept={KEPT}
        />
        {search === "" ? (
          <QuietNote
            {...{ quiet, isAll }}
            have="no cap"
            onChange={(to) => setFilters({ caps: to ? "all" : undefined })}
          />
        ) : null}
      </Stack>
      <EditCapDialog edited={edited} onClose={() => setEdited(undefined)} />
    </Panel>
  );
}

/** So few are found at a glance. */
const SEARCHED_FROM = 10;

const KEPT: Kept = { id: "caps", rows: ["cap", "caps"], prefix: "caps_" };

function columnsOf(onEdit: (cap: Cap) => void): readonly Column<Cap>[] {
  return [
    {
      id: "scope",
      label: "Scope",
      render: ({ scope }) => (scope === "org" ? "Organization" : "Key"),
    },
    {
      id: "name",
      label: "For",
      render: (cap) => <CapName cap={cap} />,
      sortValue: (cap) => cap.name,
    },
    {
      id: "cap",
      label: "Cap",
      align: "right",
      render: ({ cap_usd: usd }) => (usd === null ? "No cap" : <Money usd={usd} />),
      sortValue: ({ cap_usd: usd }) => (usd === null ? -1n : parseUsd(usd)),
    },
    {
      id: "spent",
      label: "Spent this month",
      align: "right",
      render: (cap) => <Money usd={cap.spent_usd} />,
      sortValue: (cap) => parseUsd(cap.spent_usd),
    },
    {
      id: "flight",
      label: "In progress",
      align: "right",
      render: (cap) => <Money usd={cap.in_flight_usd} />,
      sortValue: (cap) => parseUsd(cap.in_flight_usd),
    },
    {
      id: "left",
      label: "Left",
      align: "right",
      render: (cap) => <Left cap={cap} />,
      sortValue: (cap) => leftMicro(cap),
    },
    {
      id: "actions",
      label: "Actions",
      align: "right",
      render: (cap) => <EditButton cap={cap} onEdit={onEdit} />,
    },
  ];
}

function EditButton(props: { readonly cap: Cap; readonly onEdit: (cap: Cap) => void }): ReactNode {
  const { cap, onEdit } = props;
  // The cap of the organization is a matter of money, that of a key goes with the key.
  const mayChange = useMay(cap.key_id === null ? "billing" : "keys");
  return (
    <Button
      size="compact-xs"
      variant="default"
      aria-label={`Edit the cap of ${cap.name}`}
      disabled={!mayChange}
      onClick={() => onEdit(cap)}
    >
      Edit
    </Button>
  );
}

function CapName({ cap }: { readonly cap: Cap }): ReactNode {
  if (cap.key_id === null) return cap.name;
  return (
    <AppLink to="/keys/$keyId" params={{ keyId: cap.key_id }} fw={500} inherit>
      {cap.name}
    </AppLink>
  );
}

function Left({ cap }: { readonly cap: Cap }): ReactNode {
  const left = leftOf(cap);
  if (left === undefined || cap.cap_usd === null) return "–";
  const used = writeUsd(parseUsd(cap.cap_usd) - parseUsd(left));
  return (
    <div style={{ minWidth: 110 }}>
      <Money usd={left} />
      <ShareBar share={parseUsd(cap.cap_usd) === 0n ? 1 : shareOf(used, cap.cap_usd)} />
    </div>
  );
}

/** Without a cap, the most is left. */
function leftMicro(cap: Cap): bigint {
  const left = leftOf(cap);
  return left === undefined ? 1n << 62n : parseUsd(left);
}
