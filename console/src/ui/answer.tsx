import type { ReactNode } from "react";
import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";

import { Fault } from "./fault.tsx";

interface AnswerProps<T> {
  /** The result of a query of React Query. */
  readonly of: {
    readonly data: T | undefined;
    readonly isError: boolean;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  readonly rows?: number;
  /** Shown instead of the gray rows. It must be as large as the content, so that nothing moves. */
  readonly skeleton?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/**
 * Shows the content, a placeholder while it loads, or the error. If a later read fails, the
 * previous answer stays.
 */
export function Answer<T>({ of, rows = 5, skeleton, children }: AnswerProps<T>) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.isError) return <Fault error={of.error} retry={() => void of.refetch()} />;
  return <>{skeleton ?? <Loading rows={rows} />}</>;
}

export function Loading({ rows = 5 }: { readonly rows?: number }) {
  return (
    <div role="status">
      <VisuallyHidden>Loading</VisuallyHidden>
      <Stack gap="xs" aria-hidden>
        {Array.from({ length: rows }, (_none, row) => (
          <Skeleton key={row} height={36} radius="sm" />
        ))}
      </Stack>
    </div>
  );
}
