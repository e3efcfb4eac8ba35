import { Button, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState, type ReactElement } from "react";

import type { ChangeKind, ShownChange } from "../../../../src/account/console-api/contract.ts";
import { addressOf, call, type ApiFault } from "../../api/client.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { changedFacts } from "./changed-facts.ts";

/** The change log of the organization, newest first. */
export function ChangesPage(): ReactElement {
  const [kind, setKind] = useState<ChangeKind | "all">("all");
  const changes = useChanges(kind);
  return (
    <Page
      title="Changes"
      crumbs={[{ label: "Settings", to: "/settings" }]}
      lead="Who changed what in your organization, and when. Keys and other secrets are never included."
      actions={<Files kind={kind} />}
    >
      <Panel
        title="Change log"
        actions={
          <NativeSelect
            aria-label="Type of change"
            size="xs"
            data={KINDS}
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as ChangeKind | "all")}
          />
        }
      >
        <Lines changes={changes} />
      </Panel>
    </Page>
  );
}

const KINDS: { readonly value: ChangeKind | "all"; readonly label: string }[] = [
  { value: "all", label: "All" },
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
  { value: "account", label: "Accounts" },
  { value: "session", label: "Sign-ins" },
];

type Changes = UseInfiniteQueryResult<readonly ShownChange[], ApiFault>;

function filterOf(kind: ChangeKind | "all"): { readonly kind?: ChangeKind } {
  return kind === "all" ? {} : { kind };
}

function useChanges(kind: ChangeKind | "all"): Changes {
  return useInfiniteQuery({
    queryKey: ["GET /api/console/changes", "pages", kind],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/console/changes", {
        query: { ...filterOf(kind), ...(pageParam === null ? {} : { before: pageParam }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_before,
    select: ({ pages }) => pages.flatMap((page) => page.data),
  });
}

function Files({ kind }: { readonly kind: ChangeKind | "all" }): ReactElement {
  const search = kind === "all" ? "" : `?kind=${kind}`;
  return (
    <Group gap="xs">
      {(["csv", "ndjson"] as const).map((form) => (
        <Button
          key={form}
          component="a"
          href={addressOf(`/api/console/changes.${form}${search}`)}
          download
          size="xs"
          variant="default"
          leftSection={<Download size={14} aria-hidden />}
        >
          {form === "csv" ? "CSV" : "NDJSON"}
        </Button>
      ))}
    </Group>
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
  {
    id: "what",
    label: "Action",
    render: ({ actor, says }) => (
      <Text size="sm" span>
        {actor} {says}
      </Text>
    ),
  },
  {
    id: "target",
    label: "Object",
    render: ({ target, target_name: name }) => (
      <div style={{ overflowWrap: "anywhere" }}>
        {name === null ? null : <Text size="sm">{name}</Text>}
        <Copyable value={target} label="id" short />
      </div>
    ),
  },
  {
    id: "facts",
    label: "Change",
    render: ({ before, after }) => (
      <Text size="sm" span>
        {changedFacts(before, after)}
      </Text>
    ),
  },
  { id: "from", label: "From", render: ({ client_network }) => client_network ?? "" },
];
