import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { KeyDetail } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { capsLeft, type CapLeft } from "./cap-left.ts";

/** Which cap refuses this key's requests first: one of its own, or the organization's. */
export function CapLeftPanel({ detail }: { readonly detail: KeyDetail }): ReactNode {
  const answer = useAnswer("GET /api/console/limits");
  return (
    <Panel
      title="Caps on this key"
      actions={
        <AppLink to="/limits" size="sm">
          View all limits
        </AppLink>
      }
    >
      <Answer of={answer} skeleton={<Loading rows={2} />}>
        {({ caps }) => <Rows rows={capsLeft(caps, detail)} />}
      </Answer>
    </Panel>
  );
}

function Rows({ rows }: { readonly rows: readonly CapLeft[] }): ReactNode {
  const [first, ...others] = rows;
  if (first === undefined) {
    return <Text size="sm">Neither this key nor the organization has a cap.</Text>;
  }
  return (
    <Stack gap="xs">
      <Text size="sm">
        {NAMES[first.of]} applies first: <Money usd={first.leftUsd} /> of{" "}
        <Money usd={first.capUsd} /> left. It begins again on{" "}
        <Time at={first.resetAt} precision="day" />.
      </Text>
      {others.map(({ of, leftUsd, resetAt }) => (
        <Text key={of} size="sm" c="dimmed">
          {NAMES[of]}: <Money usd={leftUsd} /> left until <Time at={resetAt} precision="day" />.
        </Text>
      ))}
      <Text size="sm" c="dimmed">
        Includes the maximum cost of requests in progress. The strictest cap applies.
      </Text>
    </Stack>
  );
}

const NAMES: Readonly<Record<CapLeft["of"], string>> = {
  key_month: "Monthly key cap",
  key_week: "Weekly key cap",
  key_day: "Daily key cap",
  organization: "Organization cap",
};
