import { Group, NativeSelect, Text, TextInput } from "@mantine/core";

import { defined } from "../../../../src/kernel/core/defined.ts";
import type { ChangeKind, ChangesFilter, ShownChange } from "../../api/contract.ts";
import { buildAddress, call } from "../../api/client.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { controlled } from "../../ui/fields.ts";
import { column, timeColumn } from "../../ui/columns.tsx";
import { AppLink, type Target } from "../../ui/app-link.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Panel } from "../../ui/page.tsx";
import { SettingsFrame } from "./settings-frame.tsx";
import { useSearchText } from "../../ui/search-field.tsx";
import { usePages, OlderPages } from "../../ui/older-pages.tsx";
import { DownloadLink } from "../../ui/buttons.tsx";

export function ChangesPage() {
  const [{ kind, by, until }] = useFilters<ChangesFilter>();
  const filter = defined({ kind, by, until });
  const changes = usePages<ShownChange>([ROUTE, "pages", filter], async (before, signal) => {
    const query = { ...filter, ...(before === null ? {} : { before }) };
    const { data, next_before: next } = await call(ROUTE, { query, signal });
    return { data, next };
  });
  return (
    <SettingsFrame
      title="Changes"
      lead="Who changed what in your organization, and when. Keys and other secrets are never included."
      actions={
        <DownloadLink href={buildAddress("/api/console/changes.csv", {}, { ...filter })}>
          CSV
        </DownloadLink>
      }
    >
      <Panel title="Change log" actions={<Filters />}>
        <OlderPages of={changes} rows={8}>
          {(rows) => (
            <DataTable
              caption="Changes of the organization"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ position }) => String(position)}
              empty="No changes of this kind"
            />
          )}
        </OlderPages>
      </Panel>
    </SettingsFrame>
  );
}

const ROUTE = "GET /api/console/changes";

const TYPING_MS = 250;

function Filters() {
  const [{ kind, by, until: day }, onChange] = useFilters<ChangesFilter>();
  const [until, setUntil] = useSearchText(
    day,
    (text) => onChange({ until: text }, { history: "typed" }),
    TYPING_MS,
  );
  const { data } = useAnswer("GET /api/console/members");
  const people = (data?.members ?? []).map(({ account_id: value, email: label }) => {
    return { value, label };
  });
  const change = (name: keyof ChangesFilter, value: string): void =>
    onChange({ [name]: value }, { history: "step" });
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label="Type of change"
        size="xs"
        data={KINDS}
        {...controlled(kind ?? "", (text) => change("kind", text))}
      />
      <NativeSelect
        aria-label="Changed by"
        size="xs"
        data={[{ value: "", label: "Anyone" }, ...people]}
        {...controlled(by ?? "", (text) => change("by", text))}
      />
      <TextInput
        aria-label="Until this day (UTC)"
        type="date"
        size="xs"
        {...controlled(until, setUntil)}
      />
    </Group>
  );
}

const KINDS: { readonly value: ChangeKind | ""; readonly label: string }[] = [
  { value: "", label: "All changes" },
  { value: "key", label: "Keys" },
  { value: "limit", label: "Limits" },
  { value: "org", label: "Organization" },
  { value: "connection", label: "Provider keys" },
  { value: "endpoint", label: "Dedicated endpoints" },
  { value: "purchase", label: "Purchases" },
  { value: "credit", label: "Credit grants" },
  { value: "hold", label: "Restrictions" },
  { value: "company", label: "Company data" },
  { value: "optimize", label: "Optimize" },
  { value: "member", label: "Members" },
  { value: "alert", label: "Alerts" },
  { value: "topup", label: "Automatic top-up" },
  { value: "card", label: "Saved card" },
  { value: "account", label: "Accounts" },
  { value: "session", label: "Sign-ins" },
];

const COLUMNS: readonly Column<ShownChange>[] = [
  timeColumn("at", "Date", ({ at }) => at),
  column("what", "Change", (change) => <Sentence change={change} />),
  column("from", "From", ({ client_network }) => client_network ?? ""),
];

/** A sentence in which the name of the target links to the target's page. */
function Sentence({ change }: { readonly change: ShownChange }) {
  const { actor, says, target_name: name } = change;
  const place = toTarget(change);
  const at = name === null || place === undefined ? -1 : says.indexOf(name);
  return (
    <Text size="sm" span style={{ overflowWrap: "break-word" }}>
      {actor} {at < 0 ? says : says.slice(0, at)}
      {at < 0 || place === undefined ? null : (
        <AppLink {...place} td="underline">
          {name}
        </AppLink>
      )}
      {at < 0 ? null : says.slice(at + (name ?? "").length)}
    </Text>
  );
}

function toTarget({ target }: ShownChange): Target | undefined {
  if (target.startsWith("key_")) return { to: "/keys/$keyId", params: { keyId: target } };
  if (target.startsWith("search_")) {
    return { to: "/optimize/$searchId", params: { searchId: target } };
  }
  return target.startsWith("acct_") ? { to: "/settings/members" } : undefined;
}
