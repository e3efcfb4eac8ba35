import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { KeyDetail } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { PERIOD_NAMES } from "./key-caps.ts";
import { capRows, type Cap, type CapRow } from "./cap-left.ts";

/** Shows the caps that apply to a key's requests; the cap that will refuse first is on top. */
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
      <Answer of={answer} rows={2}>
        {({ caps }) => <Rows rows={listRows(caps, detail)} />}
      </Answer>
    </Panel>
  );
}

function listRows(caps: readonly Cap[], { key, ...resets }: KeyDetail): readonly CapRow[] {
  const met = caps.filter(({ scope, key_id: id }) => scope === "org" || id === key.key_id);
  return capRows(met, { ...resets, keys: [key] }).filter(({ capUsd }) => capUsd !== null);
}

function Rows({ rows }: { readonly rows: readonly CapRow[] }): ReactNode {
  const [first, ...others] = rows;
  if (first === undefined) {
    return <Text size="sm">Neither this key nor the organization has a cap.</Text>;
  }
  return (
    <Stack gap="xs">
      <Text size="sm">
        {describeCap(first)} applies first: <Money usd={first.leftUsd ?? "0"} isBrief /> of{" "}
        <Money usd={first.capUsd ?? "0"} isBrief /> left. It resets on{" "}
        <Time at={first.resetAt} precision="day" />.
      </Text>
      {others.map((row) => (
        <Text key={describeCap(row)} size="sm" c="dimmed">
          {describeCap(row)}: <Money usd={row.leftUsd ?? "0"} isBrief /> left until{" "}
          <Time at={row.resetAt} precision="day" />.
        </Text>
      ))}
      <Text size="sm" c="dimmed">
        Includes the maximum cost of requests in progress. The strictest cap applies.
      </Text>
    </Stack>
  );
}

function describeCap({ scope, period }: CapRow): string {
  return scope === "org" ? "Organization cap" : `${PERIOD_NAMES[period]} key cap`;
}
