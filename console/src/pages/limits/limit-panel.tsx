import { Group, Stack, Text, Badge } from "@mantine/core";
import { useMemo, useState } from "react";

import type { LimitRow, LimitValue } from "../../api/contract.ts";
import { type Need, useMay } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { actionsColumn, column } from "../../ui/columns.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount } from "../../ui/format.ts";
import { DataTable, type Column, type Kept } from "../../ui/data-table.tsx";
import { FilterChips } from "../../ui/filter-chips.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { SearchField, useSearchText } from "../../ui/search-field.tsx";
import { EditLimitDialog } from "./edit-limit-dialog.tsx";
import {
  KIND_LABELS,
  LIMIT_KINDS,
  toScope,
  type LimitKind,
  tellingLimits,
} from "./limit-change.ts";
import { UsedBar } from "./used-bar.tsx";
import { CompactButton } from "../../ui/buttons.tsx";

export function LimitPanel({ rows }: { readonly rows: readonly LimitRow[] }) {
  const [filters, setFilters] =
    useFilters<Partial<Record<"limit" | "q" | "search" | "all", string>>>();
  const [search, setSearch] = useSearchText(filters.q ?? filters.search, (text) =>
    // Older links have the search text in `search` instead of `q`.
    setFilters({ q: text, search: "" }),
  );
  const [editedId, setEditedId] = useState<string>();
  const kind = LIMIT_KINDS.find((each) => each === filters.limit) ?? "rpm";
  const nameOf = useMemo(() => buildNamer(rows), [rows]);
  const columns = useMemo(() => buildColumns(kind, nameOf, setEditedId), [kind, nameOf]);
  const { rows: telling, quiet } = useMemo(() => tellingLimits(rows), [rows]);
  const isAll = filters.all !== undefined;
  const shown = (isAll || search !== "" ? rows : telling).filter((row) =>
    Object.values(nameOf(row)).some((name) => name.toLowerCase().includes(search.toLowerCase())),
  );
  return (
    <Panel title="Limits">
      <Stack gap="md">
        <Group justify="space-between" gap="sm">
          <FilterChips
            label="Limit"
            options={LIMIT_KINDS.map((value) => ({ value, label: KIND_LABELS[value].label }))}
            value={kind}
            onChange={(value) => setFilters({ limit: value === "rpm" ? "" : value })}
          />
          <SearchField label="Key or model" value={search} onChange={setSearch} />
        </Group>
        <DataTable
          caption={`Limits: ${KIND_LABELS[kind].label.toLowerCase()}`}
          columns={columns}
          rows={shown}
          rowKey={toRowId}
          empty="No keys or models match this search."
          kept={KEPT}
        />
        {search === "" ? (
          <QuietNote
            {...{ quiet, isAll }}
            have="only the default limits, and are not close to them"
            onChange={(to) => setFilters({ all: to ? "1" : "" })}
          />
        ) : null}
        <Note>
          You can lower limits but not raise them. To go above a default or a contract, contact
          support.
        </Note>
      </Stack>
      <EditLimitDialog
        edited={rows.find((row) => toRowId(row) === editedId)}
        onClose={() => setEditedId(undefined)}
      />
    </Panel>
  );
}

const KEPT: Kept = { id: "limits", rows: ["limit", "limits"] };

function buildColumns(
  kind: LimitKind,
  nameOf: (row: LimitRow) => RowNames,
  onEdit: (id: string) => void,
): readonly Column<LimitRow>[] {
  const orMost = (value: number | null): number => value ?? Number.MAX_SAFE_INTEGER;
  return [
    column("scope", "Scope", (row) => SCOPE_LABELS[row.scope]),
    column("name", "For", (row) => <ScopeName row={row} names={nameOf(row)} />, {
      phone: "lead",
      sortValue: (row) => nameOf(row).name.toLowerCase(),
    }),
    column("ceiling", "Default or contract", (row) => countOr(row[kind].ceiling, "No limit"), {
      align: "right",
      sortValue: (row) => orMost(row[kind].ceiling),
    }),
    column(
      "own",
      "Your limit",
      (row) => countOr(row[kind].own, row.scope === "endpoint" ? "–" : "None"),
      { align: "right", sortValue: (row) => orMost(row[kind].own) },
    ),
    column("effective", "In effect", (row) => <Effective row={row} kind={kind} />, {
      align: "right",
      phone: "line",
      sortValue: (row) => orMost(row[kind].effective),
    }),
    column(
      "used",
      kind === "concurrency" ? "In progress" : "Used in the last 60 s",
      (row) => <UsedBar {...row[kind]} />,
      { phone: "line", sortValue: (row) => row[kind].used ?? -1 },
    ),
    actionsColumn(
      (row) =>
        toScope(row) === undefined ? null : (
          <EditButton
            need="keys"
            label={`Edit the limits of ${Object.values(nameOf(row)).join(", ")}`}
            onClick={() => onEdit(toRowId(row))}
          />
        ),
      { phone: "end" },
    ),
  ];
}

function Effective({ row, kind }: { readonly row: LimitRow; readonly kind: LimitKind }) {
  const { effective, source } = row[kind];
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      <span style={{ whiteSpace: "nowrap" }}>{countOr(effective, "No limit")}</span>
      <SourceBadge source={source} />
    </Group>
  );
}

function ScopeName(props: { readonly row: LimitRow; readonly names: RowNames }) {
  const { row, names } = props;
  if (row.scope === "key" && row.key_id !== null) {
    return (
      <AppLink to="/keys/$keyId" params={{ keyId: row.key_id }} fw={500}>
        {names.name}
      </AppLink>
    );
  }
  if (row.scope !== "model") return names.name;
  return (
    <>
      <Copyable value={names.name} label="model ID" />
      {names.key === undefined ? null : <Note size="xs">under the key {names.key}</Note>}
    </>
  );
}

interface RowNames {
  readonly name: string;
  /** Name of the key to which a model's limit belongs; undefined if it is the organization's. */
  readonly key?: string;
}

function buildNamer(rows: readonly LimitRow[]): (row: LimitRow) => RowNames {
  const keyNames = new Map(
    rows.filter(({ scope }) => scope === "key").map(({ key_id: id, name }) => [id, name]),
  );
  return (row) => {
    if (row.scope !== "model") return { name: row.name };
    const name = row.model ?? row.name;
    return row.key_id === null ? { name } : { name, key: keyNames.get(row.key_id) ?? row.key_id };
  };
}

function toRowId(row: LimitRow): string {
  return JSON.stringify([row.scope, row.key_id, row.model, row.name]);
}

function countOr(count: number | null, otherwise: string): string {
  return count === null ? otherwise : formatCount(count);
}

const SCOPE_LABELS: Readonly<Record<LimitRow["scope"], string>> = {
  org: "Organization",
  key: "Key",
  model: "Model",
  endpoint: "Dedicated endpoint",
};

export function EditButton(props: {
  readonly need: Need;
  readonly label: string;
  readonly onClick: () => void;
}) {
  return (
    <CompactButton aria-label={props.label} disabled={!useMay(props.need)} onClick={props.onClick}>
      Edit
    </CompactButton>
  );
}

export function QuietNote(props: {
  readonly quiet: number;
  /** Says which limits the hidden keys have, such as `"only the default limits"`. */
  readonly have: string;
  readonly isAll: boolean;
  readonly onChange: (isAll: boolean) => void;
}) {
  const { quiet, have, isAll, onChange } = props;
  if (quiet === 0) return null;
  return (
    <Group gap="sm">
      <Text size="sm">
        {quiet} keys have {have}.
      </Text>
      <CompactButton onClick={() => onChange(!isAll)}>
        {isAll ? "Hide them" : "Show them"}
      </CompactButton>
    </Group>
  );
}

export function SourceBadge({ source }: { readonly source: LimitValue["source"] }) {
  if (source === null) return null;
  const [label, meaning] = SOURCES[source];
  return (
    <Badge size="sm" miw="max-content" title={meaning}>
      {label}
    </Badge>
  );
}

const SOURCES = {
  default: ["Default", "Same for every organization"],
  contract: ["Contract", "Agreed with your organization. Only the operator can change it."],
  self: ["Your limit", "Set by your organization"],
  unfunded: ["No credit yet", "Until you add credit"],
} as const;
