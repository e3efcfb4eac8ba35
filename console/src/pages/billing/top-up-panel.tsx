import { Stack, Text, Button, Group, SimpleGrid, TextInput } from "@mantine/core";
import { CreditCard } from "lucide-react";
import { useState } from "react";

import type { TopUp } from "../../api/contract.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { bareUsd, plainUsd, showCents } from "../../ui/money-math.ts";
import { Note, Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { call } from "../../api/client.ts";
import { useChange, useMay } from "../../api/use-answer.ts";
import { notices, notifyDone } from "../../ui/notice.ts";
import { UnplacedFault, useSubmission } from "../../ui/form-dialog.tsx";
import { leaveFor, untilBack } from "./add-credit-panel.tsx";
import { Fault } from "../../ui/answer.tsx";
import { controlled, fieldError, submitting } from "../../ui/fields.ts";

export function TopUpPanel({ topUp }: { readonly topUp: TopUp }) {
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

function State({ topUp }: { readonly topUp: TopUp }) {
  if (topUp.pause !== null) return <StatusBadge tone="bad">Paused</StatusBadge>;
  const isOn = topUp.rule?.is_on === true && topUp.card !== null;
  return <StatusBadge tone={isOn ? "ok" : "quiet"}>{isOn ? "Active" : "Off"}</StatusBadge>;
}

function Progress({ topUp }: { readonly topUp: TopUp }) {
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
      {rule.is_on && topUp.card !== null
        ? `When the balance falls below ${showCents(below)}, buy ${showCents(amount)}. At most ${showCents(most)} a month.`
        : "Automatic top-up is off."}{" "}
      {spent}
      {topUp.has_open_purchase ? " A purchase is in progress." : ""}
    </Text>
  );
}

function TopUpCard({ topUp }: { readonly topUp: TopUp }) {
  const submission = useSubmission();
  const mayChange = useMay("billing");
  const remove = useChange("POST /api/console/top-up/card/remove", ["GET /api/console/top-up"]);
  const { card } = topUp;

  const save = (): void =>
    submission.run(async () => {
      const { checkout_url: url } = await call("POST /api/console/top-up/card", {});
      leaveFor(url);
      await untilBack();
    });

  return (
    <Stack gap="xs" align="flex-start">
      <Group gap="md">
        <CreditCard size={18} aria-hidden />
        <Text>{cardText(topUp)}</Text>
        <Button
          size="compact-sm"
          variant="default"
          disabled={!mayChange}
          loading={submission.isBusy}
          onClick={save}
        >
          {card === null ? "Save a card" : "Update card"}
        </Button>
        {card === null ? null : (
          <Button
            size="compact-sm"
            variant="subtle"
            color="red"
            disabled={!mayChange}
            loading={remove.isPending}
            onClick={() =>
              remove.mutate(undefined, notices("The card was removed; automatic top-up is off"))
            }
          >
            Remove card
          </Button>
        )}
      </Group>
      <Note>
        Nothing is charged when you save a card. Your card details never reach Token Market.
      </Note>
      <UnplacedFault fault={submission.fault} />
    </Stack>
  );
}

function cardText({ card, is_card_pending: isPending }: TopUp): string {
  if (card === null) return isPending ? "Waiting for the card…" : "No card saved";
  const { brand, last4, exp_month: month, exp_year: year } = card;
  const name = `${brand.slice(0, 1).toUpperCase()}${brand.slice(1)}`;
  return `${name} ending in ${last4}, expires ${String(month).padStart(2, "0")}/${year}`;
}

const FIELDS = ["below_usd", "amount_usd", "month_max_usd"] as const;
type Field = (typeof FIELDS)[number];
/** Values that the form suggests if there is no top-up rule yet. */
const FIRST: Readonly<Record<Field, string>> = {
  below_usd: "10",
  amount_usd: "50",
  month_max_usd: "200",
};

function TopUpForm({ topUp }: { readonly topUp: TopUp }) {
  const { rule, card, pause } = topUp;
  const mayChange = useMay("billing");
  const isOn = rule?.is_on === true && pause === null && card !== null;
  const [typed, setTyped] = useState(() => toTyped(rule));
  const change = useChange("PATCH /api/console/top-up", [
    "GET /api/console/top-up",
    "GET /api/console/session",
  ]);

  function save(wanted: boolean): void {
    const dollars = (field: Field): string =>
      // Turning the rule off sends the saved amounts. The server would refuse an invalid typed
      // amount, and the rule would stay on.
      wanted || rule === null ? bareUsd(typed[field]) : rule[field];
    const body = {
      is_on: wanted,
      below_usd: dollars("below_usd"),
      amount_usd: dollars("amount_usd"),
      month_max_usd: dollars("month_max_usd"),
    };
    const said = wanted ? "Automatic top-up is on" : "Automatic top-up is off";
    change.mutate({ body }, { onSuccess: () => notifyDone(said) });
  }

  const field = (name: Field, label: string, description: string) => (
    <TextInput
      label={label}
      description={description}
      inputMode="decimal"
      maxLength={16}
      {...controlled(typed[name], (text) => setTyped((before) => ({ ...before, [name]: text })))}
      error={fieldError(change.error, name)}
    />
  );
  const range = `From ${showCents(topUp.min_usd)} to ${showCents(topUp.max_usd)}.`;
  const isPlaced = FIELDS.some((name) => fieldError(change.error, name) !== undefined);
  return (
    <form {...submitting(() => save(true))} noValidate style={{ width: "100%" }}>
      <Stack gap="md" maw={720} align="flex-start">
        <SimpleGrid cols={{ base: 1, sm: 3 }} w="100%">
          {field("below_usd", "When the balance falls below, in dollars", "Holds do not count.")}
          {field("amount_usd", "Buy, in dollars", range)}
          {field("month_max_usd", "Monthly maximum, in dollars", "Months are in UTC.")}
        </SimpleGrid>
        <Note>
          {isOn ? "Y" : "By turning it on, y"}ou allow these charges to your saved card without
          being asked each time. A failed charge, a refund or a dispute pauses it.
        </Note>
        {change.isError && !isPlaced ? <Fault error={change.error} /> : null}
        <Group gap="sm">
          <Button type="submit" loading={change.isPending} disabled={card === null || !mayChange}>
            {isOn ? "Save amounts" : "Turn on automatic top-up"}
          </Button>
          {rule?.is_on === true ? (
            <Button
              variant="default"
              disabled={change.isPending || !mayChange}
              onClick={() => save(false)}
            >
              Turn off
            </Button>
          ) : null}
        </Group>
      </Stack>
    </form>
  );
}

function toTyped(rule: TopUp["rule"]): Record<Field, string> {
  if (rule === null) return { ...FIRST };
  return {
    below_usd: plainUsd(rule.below_usd),
    amount_usd: plainUsd(rule.amount_usd),
    month_max_usd: plainUsd(rule.month_max_usd),
  };
}
