import { Group, Switch } from "@mantine/core";
import { useState } from "react";

import type { QueryOf } from "../../api/contract.ts";
import { buildAddress } from "../../api/client.ts";
import { useAnswer, useSession } from "../../api/use-answer.ts";
import { helloSnippets } from "../../snippets/chat-snippets.ts";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { checkable } from "../../ui/fields.ts";
import { Answer } from "../../ui/answer.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { DownloadLink, SmallButton } from "../../ui/buttons.tsx";
import { Empty } from "../../ui/empty.tsx";
import { AsOf, Note, Panel } from "../../ui/page.tsx";
import { PageSize } from "../../ui/table-pages.tsx";
import {
  type Sort,
  PAGE_SIZES,
  readSize,
  readSort,
  writeSize,
  writeSort,
} from "../../ui/table-state.ts";
import { useUsualRows, type Kept } from "../../ui/use-table-state.ts";
import { REQUEST_COLUMNS } from "./request-columns.tsx";
import { nameSelection, type Filters, type UsageSearch } from "./usage-search.ts";
import styles from "./usage.module.css";

const LIVE_MS = 3_000;
const KEPT: Kept = { id: "requests", rows: ["request", "requests"], pages: "server" };
/** Page sizes without "All", because each page is a separate query of the request journal. */
const SIZES = PAGE_SIZES.filter((size) => size > 0);
const NONE = "No requests match this time range and these filters.";

const SORTS: Readonly<Record<string, NonNullable<QueryOf<"GET /api/console/requests">["sort"]>>> = {
  time: "time",
  cost: "cost",
  tokens: "tokens",
  cached: "cached",
  first: "first_token",
  duration: "duration",
  attempts: "attempts",
};
const NEWEST_FIRST: Sort = { id: "time", direction: "descending" };

export function RequestLog(props: {
  readonly filters: Filters;
  readonly search: UsageSearch;
  readonly onChange: (wanted: Pick<UsageSearch, "cursor" | "rows" | "sort">) => void;
}) {
  const { filters, search, onChange } = props;
  const { cursor } = search;
  /** Cursors of the visited pages, in order. A cursor leads only to the next page, not back. */
  const [passed, setPassed] = useState<readonly string[]>([]);
  const usual = useUsualRows();
  const size = readSize(search.rows, usual);
  const limit = size === 0 ? usual : size;
  const [isLive, setLive] = useState(false);
  const sort = readSort(search.sort, Object.keys(SORTS)) ?? NEWEST_FIRST;
  const isNewestFirst = writeSort(sort) === writeSort(NEWEST_FIRST);
  const order = isNewestFirst
    ? {}
    : { sort: SORTS[sort.id], direction: DIRECTIONS[sort.direction] };
  const mayBeLive = cursor === undefined && isNewestFirst;
  const requests = useAnswer(
    "GET /api/console/requests",
    { query: { ...filters, ...order, cursor, limit } },
    {
      subject: JSON.stringify([nameSelection(search), order, cursor, limit]),
      ...(isLive && mayBeLive ? { refetchMs: LIVE_MS } : {}),
    },
  );
  return (
    <Panel
      title="Requests"
      actions={
        <Group gap="md">
          <Switch
            size="xs"
            label="Live"
            {...checkable(isLive && mayBeLive, setLive)}
            disabled={!mayBeLive}
          />
          <DownloadLink href={buildAddress("/api/console/requests.csv", {}, filters)}>
            Download CSV
          </DownloadLink>
        </Group>
      }
    >
      <Answer of={requests} rows={10}>
        {({ data, next_cursor, as_of }) => (
          <>
            <AsOf at={as_of} />
            <DataTable
              caption={isNewestFirst ? "Requests, newest first" : "Requests, sorted"}
              kept={KEPT}
              columns={REQUEST_COLUMNS}
              rows={data}
              sort={sort}
              onSort={(to) => {
                setPassed([]);
                onChange({
                  sort: writeSort(to) === writeSort(NEWEST_FIRST) ? undefined : writeSort(to),
                  cursor: undefined,
                });
              }}
              rowKey={({ request_id }) => request_id}
              empty={<NoRequests filters={filters} />}
            />
            <Pager
              {...{ cursor, passed, limit, usual, isNewestFirst }}
              next={next_cursor}
              onSize={(to) => onChange({ rows: writeSize(to, usual), cursor: undefined })}
              onGo={(to) => {
                if (to !== undefined && !passed.includes(to)) {
                  const known = cursor === undefined ? 0 : passed.indexOf(cursor) + 1;
                  setPassed([...passed.slice(0, known), to]);
                }
                onChange({ cursor: to });
              }}
            />
          </>
        )}
      </Answer>
    </Panel>
  );
}

const DIRECTIONS = { ascending: "asc", descending: "desc" } as const;

/** If no filter is set, shows how to send a first request. */
function NoRequests({ filters }: { readonly filters: Filters }) {
  const { from: _from, to: _to, ...chosen } = filters;
  return Object.keys(chosen).length > 0 ? <Empty title={NONE} /> : <FirstRequest />;
}

function FirstRequest() {
  const { gateway_url: gatewayUrl } = useSession().installation;
  const modelId = useSampleModel();
  return (
    <Empty
      title={`${NONE} Send one with any of your keys:`}
      link={{ to: "/keys", label: "View keys" }}
      code={helloSnippets("chat", { gatewayUrl, modelId })[0]?.code}
    />
  );
}

interface PagerProps {
  readonly cursor: string | undefined;
  readonly passed: readonly string[];
  readonly limit: number;
  readonly usual: number;
  readonly isNewestFirst: boolean;
  readonly next: string | null;
  readonly onGo: (cursor: string | undefined) => void;
  readonly onSize: (size: number) => void;
}

const BY_TIME = { first: "Newest", back: "Newer", on: "Older" } as const;
const BY_VALUE = { first: "First page", back: "Previous", on: "Next" } as const;

function pageWords({ cursor, limit, isNewestFirst }: PagerProps): string {
  if (!isNewestFirst) return `${limit} per page`;
  return cursor === undefined ? `Newest ${limit}` : `Older requests, ${limit} per page`;
}

function Pager(props: PagerProps) {
  const { cursor, passed, limit, usual, isNewestFirst, next, onGo } = props;
  if (cursor === undefined && next === null && limit <= usual) return null;
  const words = isNewestFirst ? BY_TIME : BY_VALUE;
  const place = cursor === undefined ? -1 : passed.indexOf(cursor);
  return (
    <nav aria-label="Pages of requests" className={styles.pager}>
      <Note>{pageWords(props)}</Note>
      <Group gap="xs">
        <PageSize size={limit} sizes={SIZES} onSize={props.onSize} />
        {cursor === undefined ? null : (
          <SmallButton onClick={() => onGo(undefined)}>{words.first}</SmallButton>
        )}
        {place < 1 ? null : (
          <SmallButton onClick={() => onGo(passed[place - 1])}>{words.back}</SmallButton>
        )}
        <SmallButton disabled={next === null} onClick={() => onGo(next ?? undefined)}>
          {words.on}
        </SmallButton>
      </Group>
    </nav>
  );
}
