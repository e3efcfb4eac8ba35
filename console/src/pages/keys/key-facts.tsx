import type { ReactNode } from "react";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { Copyable } from "../../ui/copyable.tsx";
import { computeShare } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList, type FactListProps } from "../models/fact-list.tsx";
import { ShareBar } from "../limits/used-bar.tsx";
import { KeyName } from "./key-name.tsx";
import { KeyLabel, KeyStatusBadge } from "./key-table.tsx";

export function KeyFacts({ shown }: { readonly shown: Key }): ReactNode {
  const { tags, models, expires_at: expiresAt, disabled_at: disabledAt } = shown;
  return (
    <Panel>
      <FactList
        facts={[
          { label: "Name", value: <KeyName named={shown} isLink={false} /> },
          { label: "Key", value: <KeyLabel labelled={shown} /> },
          { label: "Status", value: <KeyStatusBadge stated={shown} /> },
          {
            label: `Created ${ORIGIN_LABELS[shown.origin]}`,
            value: <Time at={shown.created_at} />,
          },
          {
            label: shown.is_expired ? "Expired" : "Expires",
            value: expiresAt === null ? "Never" : <Time at={expiresAt} />,
          },
          { label: "Models", value: models === null ? "All" : models.join(", ") },
          ...(tags.length === 0 ? [] : [{ label: "Tags", value: tags.join(", ") }]),
          ...periodUse("Today", shown.spent_day_usd, shown.cap_day_usd),
          ...periodUse("This week", shown.spent_week_usd, shown.cap_week_usd),
          ...(disabledAt === null
            ? []
            : [{ label: "Disabled permanently", value: <Time at={disabledAt} /> }]),
          { label: "Key ID", value: <Copyable value={shown.key_id} label="key ID" /> },
        ]}
      />
    </Panel>
  );
}

function periodUse(name: string, spent: string | null, cap: string | null): FactListProps["facts"] {
  if (spent === null || cap === null) return [];
  const value = (
    <>
      <Money usd={spent} isBrief /> of <Money usd={cap} isBrief />
      <ShareBar share={computeShare(spent, cap)} />
    </>
  );
  return [{ label: `${name} (UTC)`, value }];
}

const ORIGIN_LABELS: Readonly<Record<Key["origin"], string>> = {
  trial: "at first sign-in",
  console: "in the console",
  identity: "through the API",
};
