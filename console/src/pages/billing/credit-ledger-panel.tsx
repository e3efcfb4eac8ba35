import { Button, Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { Download } from "lucide-react";
import type { ReactNode } from "react";

import type { CreditEntry } from "../../../../src/account/console-api/contract.ts";
import { buildAddress, call, type ApiFault } from "../../api/client.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Fault } from "../../ui/fault.tsx";
import { Loading } from "../../ui/loading.tsx";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

const PAGE_LINES = 50;

export function CreditLedgerPanel(): ReactNode {
  const ledger = useLedger();
  return (
    <Panel
      title="Credit ledger"
      actions={
        <Button
          component="a"
          href={buildAddress("/api/console/credit-ledger.csv")}
          download
          size="xs"
          variant="default"
          leftSection={<Download size={14} aria-hidden />}
        >
          Download CSV
        </Button>
      }
    >
      {ledger.data === undefined ? (
        <NoLinesYet ledger={ledger} />
      ) : (
        <LedgerLines ledger={ledger} lines={ledger.data} />
      )}
    </Panel>
  );
}

type Ledger = UseInfiniteQueryResult<readonly CreditEntry[], ApiFault>;

/**
 * Reads the credit ledger page by page. The query key begins with the route's name, so that a
 * refresh of the route reloads all pages.
 */
function useLedger(): Ledger {
  return useInfiniteQuery({
    queryKey: ["GET /api/console/credit-ledger", "pages"],
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/console/credit-ledger", {
        query: { limit: PAGE_LINES, ...(pageParam === null ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    select: ({ pages }) => pages.flatMap((page) => page.data),
  });
}

function NoLinesYet({ ledger }: { readonly ledger: Ledger }): ReactNode {
  if (!ledger.isError) return <Loading rows={6} />;
  return <Fault error={ledger.error} retry={() => void ledger.refetch()} />;
}

function LedgerLines(props: {
  readonly ledger: Ledger;
  readonly lines: readonly CreditEntry[];
}): ReactNode {
  const { ledger, lines } = props;
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        The entries add up to your balance. All requests of a UTC day are one entry; the usage log
        lists each request.
      </Text>
      <DataTable
        caption="Entries of the credit ledger"
        columns={COLUMNS}
        rows={lines}
        rowKey={({ kind, ref, at }) => `${kind} ${ref} ${at}`}
        empty={<Empty title="No entries yet" />}
      />
      {ledger.isError ? <Fault error={ledger.error} /> : null}
      {ledger.hasNextPage ? (
        <Group justify="center">
          <Button
            variant="default"
            loading={ledger.isFetchingNextPage}
            onClick={() => void ledger.fetchNextPage()}
          >
            Show older
          </Button>
        </Group>
      ) : null}
    </Stack>
  );
}

const COLUMNS: readonly Column<CreditEntry>[] = [
  {
    id: "at",
    label: "Date",
    render: ({ kind, at }) => <Time at={at} precision={kind === "usage" ? "day" : "minute"} />,
  },
  { id: "kind", label: "Type", render: ({ kind }) => <Kind kind={kind} /> },
  {
    id: "ref",
    label: "Reference",
    render: ({ kind, ref }) =>
      kind === "usage" ? ref : <Copyable value={ref} label="reference" short />,
  },
  {
    id: "amount",
    label: "Amount",
    align: "right",
    render: (entry) => <Money usd={entry.amount_usd} signed />,
    sortValue: (entry) => parseUsd(entry.amount_usd),
  },
];

/**
 * Shows the kind of an entry. Under granted credit, it says that there is no receipt, because
 * nobody paid for it.
 */
function Kind({ kind }: Pick<CreditEntry, "kind">): ReactNode {
  const isGiven = kind === "grant" || kind === "welcome";
  return (
    <>
      {KIND_LABELS[kind]}
      {isGiven ? (
        <Text size="xs" c="dimmed">
          no payment, no receipt
        </Text>
      ) : null}
    </>
  );
}

const KIND_LABELS: Readonly<Record<CreditEntry["kind"], string>> = {
  purchase: "Purchase",
  grant: "Credit grant",
  welcome: "Welcome credit",
  refund: "Refund",
  refund_reversal: "Refund reversed",
  dispute: "Dispute",
  dispute_reversal: "Dispute won",
  usage: "Usage for the day",
  correction: "Correction",
  other: "Other",
};
