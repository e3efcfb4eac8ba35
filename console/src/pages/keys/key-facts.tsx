import { Stack, Text } from "@mantine/core";

import type { Key, KeyDetail } from "../../api/contract.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { computeShare } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Note, Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList, type SomeFacts } from "../models/fact-list.tsx";
import { ShareBar } from "../limits/used-bar.tsx";
import { KeyName } from "./key-name.tsx";
import { KeyLabel, KeyStatusBadge } from "./key-table.tsx";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { PERIOD_NAMES, capRows, type Cap, type CapRow } from "./caps.ts";

export function KeyFacts({ shown }: { readonly shown: Key }) {
  const { tags, models, expires_at, disabled_at, old_works_until } = shown;
  return (
    <Panel>
      <FactList
        facts={[
          ["Name", <KeyName named={shown} isLink={false} />],
          ["Key", <KeyLabel labelled={shown} />],
          ["Status", <KeyStatusBadge stated={shown} />],
          [`Created ${ORIGIN_LABELS[shown.origin]}`, <Time at={shown.created_at} />],
          [
            shown.is_expired ? "Expired" : "Expires",
            expires_at === null ? "Never" : <Time at={expires_at} />,
          ],
          old_works_until !== null && ["Old secret works until", <Time at={old_works_until} />],
          ["Models", models === null ? "All" : models.join(", ")],
          tags.length !== 0 && ["Tags", tags.join(", ")],
          ...periodUse("Today", shown.spent_day_usd, shown.cap_day_usd),
          ...periodUse("This week", shown.spent_week_usd, shown.cap_week_usd),
          disabled_at !== null && ["Disabled permanently", <Time at={disabled_at} />],
          ["Key ID", <Copyable value={shown.key_id} label="key ID" />],
        ]}
      />
    </Panel>
  );
}

function periodUse(name: string, spent: string | null, cap: string | null): SomeFacts {
  if (spent === null || cap === null) return [];
  const value = (
    <>
      <Money usd={spent} isBrief /> of <Money usd={cap} isBrief />
      <ShareBar share={computeShare(spent, cap)} />
    </>
  );
  return [[`${name} (UTC)`, value]];
}

const ORIGIN_LABELS: Readonly<Record<Key["origin"], string>> = {
  trial: "at first sign-in",
  console: "in the console",
  identity: "through the API",
};

/** Shows the caps that apply to a key's requests; the cap that will refuse first is on top. */
export function CapLeftPanel({ detail }: { readonly detail: KeyDetail }) {
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

function Rows({ rows }: { readonly rows: readonly CapRow[] }) {
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
        <Note key={describeCap(row)}>
          {describeCap(row)}: <Money usd={row.leftUsd ?? "0"} isBrief /> left until{" "}
          <Time at={row.resetAt} precision="day" />.
        </Note>
      ))}
      <Note>Includes the maximum cost of requests in progress. The strictest cap applies.</Note>
    </Stack>
  );
}

function describeCap({ scope, period }: CapRow): string {
  return scope === "org" ? "Organization cap" : `${PERIOD_NAMES[period]} key cap`;
}
