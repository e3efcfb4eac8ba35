import { Button, Group, Stack } from "@mantine/core";
import { useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { RouteName } from "../api/contract.ts";
import type { ApiFault } from "../api/client.ts";
import { Answer, Fault } from "./answer.tsx";

interface RowsPage<T> {
  readonly data: readonly T[];
  /** The cursor of the page of older rows; null on the last page. */
  readonly next: string | null;
}

/**
 * Reads a list page by page, newest rows first. `key` begins with the route's name, so that a
 * refresh of the route reloads all pages.
 */
export function usePages<T>(
  key: readonly [RouteName, ...unknown[]],
  read: (cursor: string | null, signal: AbortSignal) => Promise<RowsPage<T>>,
): UseInfiniteQueryResult<readonly T[], ApiFault> {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    select: ({ pages }) => pages.flatMap((page) => page.data),
  });
}

/** Shows the pages that were read, with a button for the next one. */
export function OlderPages<T>(props: {
  readonly of: ReturnType<typeof usePages<T>>;
  readonly rows: number;
  readonly children: (rows: readonly T[]) => ReactNode;
}) {
  const { of, rows, children } = props;
  return (
    <Answer of={of} rows={rows}>
      {(data) => (
        <Stack gap="md">
          {children(data)}
          {of.isError ? <Fault error={of.error} /> : null}
          {of.hasNextPage ? (
            <Group justify="center">
              <Button
                variant="default"
                loading={of.isFetchingNextPage}
                onClick={() => void of.fetchNextPage()}
              >
                Show older
              </Button>
            </Group>
          ) : null}
        </Stack>
      )}
    </Answer>
  );
}
