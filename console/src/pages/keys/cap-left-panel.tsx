import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Key } from "../../../../src/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { capsLeft, type CapLeft } from "./cap-left.ts";

/** Which monthly cap refuses this key's requests first: its own, or the organization's. */
export function CapLeftPanel(props: { readonly shown: Key; readonly resetAt: string }): ReactNode {
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
        {(limits) => (
          <Rows rows={capsLeft(limits.caps, props.shown.key_id)} resetAt={props.resetAt} />
        )}
      </Answer>
    </Panel>
  );
}

function Rows(props: { readonly rows: readonly CapLeft[]; readonly resetAt: string }): ReactNode {
  const [first, second] = props.rows;
  if (first === undefined) {
    return <Text size="sm">Neither this key nor the organization has a monthly cap.</Text>;
  }
  return (
    <Stack gap="xs">
      <Text size="sm">
        {whose(first)} applies first: <Money usd={first.leftUsd} /> of{" "}
        <Money usd={first.cap.cap_usd ?? "0.000000"} /> left. Resets on{" "}
        <Time at={props.resetAt} precision="day" />.
      </Text>
      {second === undefined ? null : (
        <Text size="sm" c="dimmed">
          {whose(second)}: <Money usd={second.leftUsd} /> left.
        </Text>
      )}
      <Text size="sm" c="dimmed">
        Includes the maximum cost of requests in progress. The strictest cap applies.
      </Text>
    </Stack>
  );
}

function whose({ cap }: CapLeft): string {
  return cap.scope === "org" ? "Organization cap" : "Key cap";
}
