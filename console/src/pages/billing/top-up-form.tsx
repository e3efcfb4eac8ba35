import { Button, Group, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useState, type ReactNode, type SyntheticEvent } from "react";

import type { TopUp } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { Fault } from "../../ui/fault.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { showCents, toCents } from "../../ui/money-math.ts";
import { notifyDone } from "../../ui/notice.ts";

const FIELDS = ["below_usd", "amount_usd", "month_max_usd"] as const;
type Field = (typeof FIELDS)[number];
/** Values that the form suggests if there is no top-up rule yet. */
const FIRST: Readonly<Record<Field, string>> = {
  below_usd: "10",
  amount_usd: "50",
  month_max_usd: "200",
};

export function TopUpForm({ topUp }: { readonly topUp: TopUp }): ReactNode {
  const { rule, card, pause } = topUp;
  const mayChange = useMay("billing");
  const isOn = rule?.is_on === true && pause === null;
  const [typed, setTyped] = useState(() => toTyped(rule));
  const change = useChange("PATCH /api/console/top-up", {
    refreshes: ["GET /api/console/top-up", "GET /api/console/session"],
  });

  function save(wanted: boolean): void {
    const dollars = (field: Field): string =>
      // Turning off saves no amounts, for one that is not allowed would keep the rule on.
      wanted || rule === null ? typed[field].trim().replace(/^\$/, "") : rule[field];
    const body = {
      is_on: wanted,
      below_usd: dollars("below_usd"),
      amount_usd: dollars("amount_usd"),
      month_max_usd: dollars("month_max_usd"),
    };
    const said = wanted ? "Automatic top-up is on" : "Automatic top-up is off";
    change.mutate({ body }, { onSuccess: () => notifyDone(said) });
  }
  function submit(event: SyntheticEvent): void {
    event.preventDefault();
    save(true);
  }

  const field = (name: Field, label: string, description: string): ReactNode => (
    <TextInput
      label={label}
      description={description}
      inputMode="decimal"
      maxLength={16}
      value={typed[name]}
      onChange={(event) => {
        const text = event.currentTarget.value;
        setTyped((before) => ({ ...before, [name]: text }));
      }}
      error={fieldError(change.error, name)}
    />
  );
  const range = `From ${showCents(topUp.min_usd)} to ${showCents(topUp.max_usd)}.`;
  const isPlaced = FIELDS.some((name) => fieldError(change.error, name) !== undefined);
  return (
    <form onSubmit={submit} noValidate style={{ width: "100%" }}>
      <Stack gap="md" maw={720} align="flex-start">
        <SimpleGrid cols={{ base: 1, sm: 3 }} w="100%">
          {field("below_usd", "When the balance falls below, in dollars", "Holds do not count.")}
          {field("amount_usd", "Buy, in dollars", range)}
          {field("month_max_usd", "Monthly maximum, in dollars", "Months are in UTC.")}
        </SimpleGrid>
        <Text size="sm" c="dimmed">
          {isOn ? "Y" : "By turning it on, y"}ou allow these charges to your saved card without
          being asked each time. A failed charge, a refund or a dispute pauses it.
        </Text>
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
    below_usd: toCents(rule.below_usd),
    amount_usd: toCents(rule.amount_usd),
    month_max_usd: toCents(rule.month_max_usd),
  };
}
