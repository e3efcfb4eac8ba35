import { SimpleGrid, Skeleton, VisuallyHidden } from "@mantine/core";
import type { ReactElement } from "react";

/** Grey boxes as large as the page's content. */
export function OverviewSkeleton(): ReactElement {
  return (
    <div role="status">
      <VisuallyHidden>Loading</VisuallyHidden>
      <SimpleGrid cols={{ base: 2, lg: 5 }} spacing="md" mb="lg" aria-hidden>
        {Array.from({ length: 5 }, (_none, card) => (
          <Skeleton key={card} height={114} />
        ))}
      </SimpleGrid>
      <Skeleton height={384} mb="lg" />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg" aria-hidden>
        <Skeleton height={260} />
        <Skeleton height={260} />
      </SimpleGrid>
    </div>
  );
}
