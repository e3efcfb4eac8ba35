import { Button, Group, Text } from "@mantine/core";
import { Download } from "lucide-react";
import { useState, type ReactElement } from "react";

import { addressOf } from "../../api/client.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { AsOf } from "../../ui/as-of.tsx";
import { Answer } from "../../ui/answer.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Panel } from "../../ui/panel.tsx";
import { SearchedBack } from "../../ui/searched-back.tsx";
import { FindRequest } from "./find-request.tsx";
import { REQUEST_COLUMNS } from "./request-columns.tsx";
import type { Filters } from "./usage-search.ts";
import styles from "./usage.module.css";

export interface RequestLogProps {
  readonly filters: Filters;
  /** Of the page that is shown; undefined: the newest requests. */
  readonly cursor: string | undefined;
  readonly onCursor: (cursor: string | undefined) => void;
}

const PAGE_ROWS = 50;
const NONE = "No request matches this time range and these filters.";
const NONE_YET = "No request matches as far back as was searched.";

/** Requests one by one, newest first, and the same as a file. */
export function RequestLog({ filters, cursor, onCursor }: RequestLogProps): ReactElement {
  /** A cursor knows only the way to older ones: the way back is kept here. */
  const [trail, setTrail] = useState<readonly string[]>([]);
  const requests = useAnswer("GET /api/console/requests", {
    query: { ...filters, cursor, limit: PAGE_ROWS },
  });
  return (
    <Panel
      title="Requests"
      actions={
        <Button
          component="a"
          href={addressOf("/api/console/requests.csv", {}, filters)}
          download
          variant="default"
          size="xs"
          leftSection={<Download size={14} aria-hidden />}
        >
          Download CSV
        </Button>
      }
    >
      <FindRequest />
      <Answer of={requests} skeleton={<Loading rows={10} />}>
        {({ data, next_cursor, searched_back_to, as_of }) => (
          <>
            <AsOf at={as_of} />
            <DataTable
              caption="Requests, newest first"
              columns={REQUEST_COLUMNS}
              rows={data}
              rowKey={({ request_id }) => request_id}
              empty={<Empty title={searched_back_to === undefined ? NONE : NONE_YET} />}
            />
            <SearchedBack to={searched_back_to} />
            <Pager
              place={{ cursor, trail }}
              next={next_cursor}
              isSearching={searched_back_to !== undefined}
              onGo={(to) => {
                setTrail(to.trail);
                onCursor(to.cursor);
              }}
            />
          </>
        )}
      </Answer>
    </Panel>
  );
}

/** Which page is shown, and the older page's way back to the newest one. */
interface Place {
  readonly cursor: string | undefined;
  readonly trail: readonly string[];
}

interface PagerProps {
  readonly place: Place;
  readonly next: string | null;
  /** The page ended where its time was up. */
  readonly isSearching: boolean;
  readonly onGo: (to: Place) => void;
}

function Pager({ place, next, isSearching, onGo }: PagerProps): ReactElement | null {
  const { cursor, trail } = place;
  if (cursor === undefined && next === null) return null;
  const back = cursor === undefined ? undefined : trail.at(-1);
  return (
    <nav aria-label="Pages of requests" className={styles.pager}>
      <Text size="sm" c="dimmed">
        {cursor === undefined ? `Newest ${PAGE_ROWS}` : `Older requests, ${PAGE_ROWS} per page`}
      </Text>
      <Group gap="xs">
        {cursor === undefined ? null : (
          <Button
            variant="default"
            size="xs"
            onClick={() => onGo({ cursor: undefined, trail: [] })}
          >
            Newest
          </Button>
        )}
        {back === undefined ? null : (
          <Button
            variant="default"
            size="xs"
            onClick={() => onGo({ cursor: back, trail: trail.slice(0, -1) })}
          >
            Newer
          </Button>
        )}
        <Button
          variant="default"
          size="xs"
          disabled={next === null}
          onClick={() =>
            onGo({
              cursor: next ?? undefined,
              trail: cursor === undefined ? [] : [...trail, cursor],
            })
          }
        >
          {isSearching ? "Search further back" : "Older"}
        </Button>
      </Group>
    </nav>
  );
}
