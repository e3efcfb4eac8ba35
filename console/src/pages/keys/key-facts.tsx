import { Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { computeShare } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { ShareBar } from "../limits/used-bar.tsx";
import { KeyName } from "./key-name.tsx";
import { KeyLabel, KeyStatusBadge } from "./key-table.tsx";

/** The names by which a key is known. */
export function KeyFacts({ shown }: { readonly shown: Key }): ReactNode {
  return (
    <Panel>
      <Group gap="xl" align="flex-start" component="dl" m={0}>
        <Fact term="Name">
          <KeyName named={shown} isLink={false} />
        </Fact>
        <Fact term="Key">
          <KeyLabel labelled={shown} />
        </Fact>
        <Fact term="Status">
          <KeyStatusBadge stated={shown} />
        </Fact>
        <Fact term="Created">
          <Time at={shown.created_at} /> {ORIGIN_LABELS[shown.origin]}
        </Fact>
        <Fact term={shown.is_expired ? "Expired" : "Expires"}>
          {shown.expires_at === null ? "Never" : <Time at={shown.expires_at} />}
        </Fact>
        <Fact term="Models">{shown.models === null ? "All" : shown.models.join(", ")}</Fact>
        {shown.tags.length === 0 ? null : <Fact term="Tags">{shown.tags.join(", ")}</Fact>}
        <PeriodUse name="Today" spent={shown.spent_day_usd} cap={shown.cap_day_usd} />
        <PeriodUse name="This week" spent={shown.spent_week_usd} cap={shown.cap_week_usd} />
        {shown.disabled_at === null ? null : (
          <Fact term="Disabled">
            <Time at={shown.disabled_at} />, permanently
          </Fact>
        )}
        <Fact term="Key ID">
          <Copyable value={shown.key_id} label="key ID" />
        </Fact>
      </Group>
    </Panel>
  );
}

/** Shows the spent part of a daily or weekly cap, and nothing without such a cap. */
function PeriodUse(props: {
  readonly name: string;
  readonly spent: string | null;
  readonly cap: string | null;
}): ReactNode {
  const { name, spent, cap } = props;
  if (spent === null || cap === null) return null;
  return (
    <Fact term={`${name} (UTC)`}>
      <Money usd={spent} isBrief /> of <Money usd={cap} isBrief />
      <ShareBar share={computeShare(spent, cap)} />
    </Fact>
  );
}

function Fact(props: { readonly term: string; readonly children: ReactNode }): ReactNode {
  return (
    <div style={{ minWidth: 0 }}>
      <Text component="dt" size="xs" c="dimmed">
        {props.term}
      </Text>
      <Text component="dd" size="sm" m={0}>
        {props.children}
      </Text>
    </div>
  );
}

const ORIGIN_LABELS: Readonly<Record<Key["origin"], string>> = {
  trial: "at first sign-in",
  console: "in the console",
  identity: "through the API",
};
