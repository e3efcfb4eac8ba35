import { Button, Checkbox, Group, Stack, TextInput } from "@mantine/core";
import { useState, type FormEvent, type ReactNode } from "react";

import type { Alerts } from "../../../../src/account/console-api/contract.ts";
import { useChange } from "../../api/use-answer.ts";
import { controlled } from "../../ui/controlled.ts";
import { Fault } from "../../ui/fault.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { notifyDone } from "../../ui/notice.ts";
import { ForRole } from "../../ui/for-role.tsx";
import { Panel } from "../../ui/panel.tsx";
import { changedRules, typedRules, type EventName } from "./alert-rules.ts";

const PERCENTS = [50, 80, 90, 100];

const EVENTS = [
  ["purchases", "Credit from a purchase was added"],
  ["restrictions", "Requests are restricted after unusual use"],
  ["key_expiry", "A key expires in 7 days, in 1 day, or has expired"],
  ["provider_trouble", "A provider failed most of your calls in an hour"],
] as const satisfies readonly (readonly [EventName, string])[];

export function AlertRulesPanel({ rules }: { readonly rules: Alerts["rules"] }): ReactNode {
  const [opened, setOpened] = useState(rules);
  const [typed, setTyped] = useState(() => typedRules(rules));
  const change = useChange("PATCH /api/console/alerts", { refreshes: ["GET /api/console/alerts"] });

  function save(event: FormEvent): void {
    event.preventDefault();
    change.mutate(
      { body: changedRules(opened, typed) },
      {
        onSuccess: ({ rules: saved }) => {
          setOpened(saved);
          setTyped(typedRules(saved));
          notifyDone("Alerts were saved");
        },
      },
    );
  }

  const wrongAmount = fieldError(change.error, "balance_below_usd");
  return (
    <Panel title="What to report">
      <ForRole need="billing">
        <form onSubmit={save}>
          <Stack gap="lg" maw={480} align="flex-start">
            <TextInput
              label="Balance below, in dollars"
              description={rules.balance_follows ? FOLLOWS : "Leave blank for no alert."}
              inputMode="decimal"
              maxLength={16}
              {...controlled(typed.below, (below) => setTyped({ ...typed, below }))}
              error={wrongAmount}
              w="100%"
            />
            <Checkbox.Group
              label="Share of a cap used"
              description="Of the organization's monthly cap and of each key's monthly, weekly and daily cap."
              value={[...typed.percents]}
              onChange={(percents) => setTyped({ ...typed, percents })}
            >
              <Group gap="lg" mt="xs">
                {[...new Set([...PERCENTS, ...rules.cap_percents])].map((percent) => (
                  <Checkbox key={percent} value={String(percent)} label={`${percent}%`} />
                ))}
              </Group>
            </Checkbox.Group>
            {EVENTS.map(([name, label]) => (
              <Checkbox
                key={name}
                label={label}
                checked={typed[name]}
                onChange={(event) => setTyped({ ...typed, [name]: event.currentTarget.checked })}
              />
            ))}
            {change.isError && wrongAmount === undefined ? <Fault error={change.error} /> : null}
            <Button type="submit" loading={change.isPending}>
              Save alerts
            </Button>
          </Stack>
        </form>
      </ForRole>
    </Panel>
  );
}

const FOLLOWS =
  "A fifth of your last purchase, at least $5, until you set another. Leave blank for none.";
