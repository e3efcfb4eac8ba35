import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";
import type { ReactElement } from "react";

/** Gray rows as large as the expected content, so that nothing moves when it arrives. */
export function Loading({ rows = 5 }: { readonly rows?: number }): ReactElement {
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
