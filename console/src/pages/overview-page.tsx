import { SimpleGrid, Skeleton, VisuallyHidden } from "@mantine/core";

import type { Overview } from "../api/contract.ts";
import { useAnswer, useSession } from "../api/use-answer.ts";
import { ReceivedInvitations } from "../app/received-invitations.tsx";
import { Answer } from "../ui/answer.tsx";
import { LinkButton } from "../ui/app-link.tsx";
import { AsOf, Page } from "../ui/page.tsx";
import { Checklist, DaysPanel, LatestErrors, TopModels } from "./overview/panels.tsx";
import { Figures } from "./overview/figures.tsx";

const REFRESH_MS = 30_000;

export function OverviewPage() {
  const { org } = useSession();
  const overview = useAnswer("GET /api/console/overview", undefined, { refetchMs: REFRESH_MS });
  return (
    <Page
      title="Overview"
      lead={org === null ? undefined : "Days and months are in UTC."}
      actions={<LinkButton to="/usage">Open usage</LinkButton>}
    >
      <ReceivedInvitations />
      <Answer of={overview} skeleton={<OverviewSkeleton />}>
        {(data) => <Content overview={data} />}
      </Answer>
    </Page>
  );
}

function Content({ overview }: { readonly overview: Overview }) {
  const { done } = overview;
  const isSetUp = done.has_key && done.has_credit && done.has_request;
  return (
    <>
      {isSetUp ? null : <Checklist done={done} />}
      <AsOf at={overview.as_of} />
      <Figures overview={overview} />
      <DaysPanel days={overview.days} models={overview.day_models} />
      <SimpleGrid cols={{ base: 1, xl: 2 }} spacing="lg">
        <TopModels models={overview.top_models} />
        <LatestErrors requests={overview.latest_errors} />
      </SimpleGrid>
    </>
  );
}

/** Gray boxes as large as the page's content, so that nothing moves when it is loaded. */
function OverviewSkeleton() {
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
