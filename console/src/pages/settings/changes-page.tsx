import { Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState, type ReactElement } from "react";

import type {
  ChangeKind,
  ChangesFilter,
  ShownChange,
} from "../../../../src/account/console-api/contract.ts";
import { buildAddress, call, type ApiFault } from "../../api/client.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { AppLink, type Target } from "../../ui/app-link.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { SettingsFrame } from "./settings-frame.tsx";

export function ChangesPage(): ReactElement {
  const [filter, setFilter] = useState<ChangesFilter>({});
  const changes = useChanges(filter);
  return (
    <SettingsFrame
      title="Changes"
      lead="Who changed what in your organization, and when. Keys and other secrets are never included."
      actions={<Files filter={filter} />}
    >
      <Panel title="Change log" actions={<Filters filter={filter} onChange={setFilter} />}>
        <Lines changes={changes} />
      </Panel>
    </SettingsFrame>
  );
}

interface FiltersProps {
  readonly filter: ChangesFilter;
  readonly onChange: (filter: ChangesFilter) => void;
}

function Filters({ filter, onChange }: FiltersProps): ReactElement {
  const { data } = useAnswer("GET /api/console/members");
  const people = (data?.members ?? []).map(({ account_id: value, email: label }) => {
    return { value, label };
  });
  function change(name: keyof ChangesFilter, value: string): void {
    const { [name]: _old, ...others } = filter;
    onChange(value === "" ? others : { ...others, [name]: value });
  }
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label="Type of change"
        size="xs"
        data={KINDS}
        value={filter.kind ?? ""}
        onChange={(event) => change("kind", event.currentTarget.value)}
      />
      <NativeSelect
        aria-label="Changed by"
        size="xs"
        data={[{ value: "", label: "Anyone" }, ...people]}
        value={filter.by ?? ""}
        onChange={(event) => change("by", event.currentTarget.value)}
      />
      <TextInput
        aria-label="Until this day (UTC)"
        type="date"
        size="xs"
        value={filter.until ?? ""}
        onChange={(event) => change("until", event.currentTarget.value)}
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

type Changes = UseInfiniteQueryResult<readonly ShownChange[], ApiFault>;

function useChanges(filter: ChangesFilter): Changes {
  return useInfiniteQuery({
    queryKey: ["GET /api/console/changes", "pages", filter],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/console/changes", {
        query: { ...filter, ...(pageParam === null ? {} : { before: pageParam }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_before,
    select: ({ pages }) => pages.flatMap((page) => page.data),
  });
}

function Files({ filter }: { readonly filter: ChangesFilter }): ReactElement {
  const search = new URLSearchParams(filter).toString();
  return (
    <Button
      component="a"
      href={buildAddress(`/api/console/changes.csv${search === "" ? "" : `?${search}`}`)}
      download
      size="xs"
      variant="default"
      leftSection={<Download size={14} aria-hidden />}
    >
      CSV
    </Button>
  );
}

function Lines({ changes }: { readonly changes: Changes }): ReactElement {
  const { data, isError, error } = changes;
  if (data === undefined) {
    if (!isError) return <Loading rows={8} />;
    return <Fault error={error} retry={() => void changes.refetch()} />;
  }
  return (
    <Stack gap="md">
      <DataTable
        caption="Changes of the organization"
        columns={COLUMNS}
        rows={data}
        rowKey={({ position }) => String(position)}
        empty={<Empty title="No changes of this kind" />}
      />
      {isError ? <Fault error={error} /> : null}
      {changes.hasNextPage ? (
        <Group justify="center">
          <Button
            variant="default"
            loading={changes.isFetchingNextPage}
            onClick={() => void changes.fetchNextPage()}
          >
            Show older
          </Button>
        </Group>
      ) : null}
    </Stack>
  );
}

const COLUMNS: readonly Column<ShownChange>[] = [
  { id: "at", label: "Date", render: ({ at }) => <Time at={at} precision="minute" /> },
  { id: "what", label: "Change", render: (change) => <Sentence change={change} /> },
  { id: "from", label: "From", render: ({ client_network }) => client_network ?? "" },
];

/** Describes a change in a sentence, in which the name of the target links to the target's page. */
function Sentence({ change }: { readonly change: ShownChange }): ReactElement {
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
