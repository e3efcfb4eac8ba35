import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { TopUp } from "../../../../src/account/console-api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { showCents } from "../../ui/money-math.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { TopUpCard } from "./top-up-card.tsx";
import { TopUpForm } from "./top-up-form.tsx";

export function TopUpPanel({ topUp }: { readonly topUp: TopUp }): ReactNode {
  if (!topUp.is_available) return null;
  const { rule, card } = topUp;
  return (
    <Panel title="Automatic top-up" actions={<State topUp={topUp} />}>
      <Stack gap="lg" align="flex-start">
        <Progress topUp={topUp} />
        <TopUpCard topUp={topUp} />
        {card === null && rule === null ? null : (
          // The React key resets the form when the rule was changed in another tab.
          <TopUpForm key={JSON.stringify(rule)} topUp={topUp} />
        )}
      </Stack>
    </Panel>
  );
}

function State({ topUp }: { readonly topUp: TopUp }): ReactNode {
  if (topUp.pause !== null) return <StatusBadge tone="bad">Paused</StatusBadge>;
  return topUp.rule?.is_on === true ? (
    <StatusBadge tone="ok">Active</StatusBadge>
  ) : (
    <StatusBadge tone="quiet">Off</StatusBadge>
  );
}

function Progress({ topUp }: { readonly topUp: TopUp }): ReactNode {
  const { rule, pause } = topUp;
  if (pause !== null) {
    return (
      <Text role="status">
        {pause.text} Paused since <Time at={pause.since} />.
      </Text>
    );
  }
  if (rule === null && topUp.card !== null) {
    return (
      <Text role="status">
        Your card is saved, and automatic top-up is off: nothing is bought until you turn it on.
      </Text>
    );
  }
  if (rule === null) {
    return (
      <Text c="dimmed">
        Buys credit with your saved card when the balance is low, so that requests are not rejected.
      </Text>
    );
  }
  const { below_usd: below, amount_usd: amount, month_max_usd: most } = rule;
  const spent = `${showCents(topUp.month_spent_usd)} of ${showCents(most)} used this month (UTC).`;
  return (
    <Text role="status">
      {rule.is_on
        ? `When the balance falls below ${showCents(below)}, buy ${showCents(amount)}. At most ${showCents(most)} a month.`
        : "Automatic top-up is off."}{" "}
      {spent}
      {topUp.has_open_purchase ? " A purchase is in progress." : ""}
    </Text>
  );
}
