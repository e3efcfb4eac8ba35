import { SimpleGrid, Skeleton, Button, Checkbox, Group, Stack, TextInput } from "@mantine/core";
import { useState } from "react";

import { useAnswer, useChange, useMay } from "../../api/use-answer.ts";
import { Answer, Fault } from "../../ui/answer.tsx";
import { DestinationPanel } from "./destination-panel.tsx";
import { SettingsFrame } from "./settings-frame.tsx";
import type { Alerts, AlertDelivery } from "../../api/contract.ts";
import { controlled, fieldError, checkable, submitting } from "../../ui/fields.ts";
import { notifyDone, notices } from "../../ui/notice.ts";
import { ForRole, Panel, RoleNote } from "../../ui/page.tsx";
import { changedRules, EVENTS, typedRules, type TypedRules } from "./alert-rules.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { timeColumn, column } from "../../ui/columns.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Time } from "../../ui/time.tsx";
import { CompactButton } from "../../ui/buttons.tsx";

const LEAD =
  "Alerts report a low balance, caps that are nearly used and other events, each once until its figure " +
  "has recovered.";

export function AlertsPage() {
  const answer = useAnswer("GET /api/console/alerts");
  return (
    <SettingsFrame title="Alerts" lead={LEAD}>
      <RoleNote need="billing" what="change alerts" />
      <Answer of={answer} skeleton={<AlertsSkeleton />}>
        {(alerts) => (
          <>
            <AlertRulesPanel rules={alerts.rules} />
            <DestinationPanel alerts={alerts} />
          </>
        )}
      </Answer>
      <AlertLogPanel />
    </SettingsFrame>
  );
}

function AlertsSkeleton() {
  return (
    <SimpleGrid cols={1}>
      <Skeleton height={360} radius="md" />
      <Skeleton height={160} radius="md" />
    </SimpleGrid>
  );
}

const PERCENTS = [50, 80, 90, 100];

function AlertRulesPanel({ rules }: { readonly rules: Alerts["rules"] }) {
  const [edited, setEdited] = useState<{
    readonly opened: typeof rules;
    readonly typed: TypedRules;
  }>();
  // Until the reader changes something, the form follows the rules, which others may change.
  const { opened, typed } = edited ?? { opened: rules, typed: typedRules(rules) };
  const setTyped = (next: TypedRules): void => setEdited({ opened, typed: next });
  const change = useChange("PATCH /api/console/alerts", ["GET /api/console/alerts"]);

  function save(): void {
    change.mutate(
      { body: changedRules(opened, typed) },
      {
        onSuccess: () => {
          setEdited(undefined);
          notifyDone("Alerts were saved");
        },
      },
    );
  }

  const wrongAmount = fieldError(change.error, "balance_below_usd");
  return (
    <Panel title="What to report">
      <ForRole need="billing">
        <form {...submitting(save)}>
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
                {...checkable(typed[name], (isOn) => setTyped({ ...typed, [name]: isOn }))}
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

const REFRESH_MS = 5_000;

function AlertLogPanel() {
  const deliveries = useAnswer("GET /api/console/alerts/deliveries", undefined, {
    refetchMs: REFRESH_MS,
  });
  return (
    <Panel title="Recent alerts">
      <Answer of={deliveries} rows={3}>
        {({ data }) => (
          <DataTable
            caption="Recent alerts and their deliveries"
            columns={COLUMNS}
            rows={data}
            rowKey={({ event_id: id, destination_id: to }) => `${id} ${to ?? ""}`}
            empty="No alerts yet."
          />
        )}
      </Answer>
    </Panel>
  );
}

const COLUMNS: readonly Column<AlertDelivery>[] = [
  timeColumn("at", "Time", ({ at }) => at),
  column("kind", "Alert", ({ label }) => label),
  column("channel", "Channel", ({ channel }) => (channel === null ? "" : CHANNELS[channel])),
  column("address", "Destination", ({ address }) => (
    <span style={{ overflowWrap: "anywhere" }}>{address ?? "None"}</span>
  )),
  column("state", "Delivery", (delivery) => <State delivery={delivery} />),
  column("tries", "Tries", ({ tries }) => tries ?? "", { align: "right" }),
  column("answer", "Last answer", ({ last_answer: answer }) => answer ?? ""),
  column("again", "Actions", (delivery) => <SendAgain delivery={delivery} />, { align: "right" }),
];

const CHANNELS = { email: "Email", webhook: "Webhook" } as const;

function SendAgain({ delivery }: { readonly delivery: AlertDelivery }) {
  const { destination_id: id, event_id: eventId, address } = delivery;
  const again = useChange("POST /api/console/alerts/destinations/:destination_id/send-again", [
    "GET /api/console/alerts/deliveries",
  ]);
  const maySend = useMay("billing");
  if (delivery.state !== "failed" || id === null || !maySend) return null;
  return (
    <CompactButton
      aria-label={`Send again: ${delivery.label} to ${address ?? ""}`}
      loading={again.isPending}
      onClick={() =>
        again.mutate(
          { params: { destination_id: id }, body: { event_id: eventId } },
          notices(`“${delivery.label}” was queued again`),
        )
      }
    >
      Send again
    </CompactButton>
  );
}

function State({ delivery }: { readonly delivery: AlertDelivery }) {
  const { state, tries, next_try_at: next } = delivery;
  if (state === null) return "Not sent";
  if (state === "delivered") return <StatusBadge tone="ok">Delivered</StatusBadge>;
  if (state === "failed") return <StatusBadge tone="bad">Failed</StatusBadge>;
  return (
    <>
      <StatusBadge tone="quiet">Waiting</StatusBadge>{" "}
      {tries === 0 || next === null ? null : (
        <>
          next try <Time at={next} />
        </>
      )}
    </>
  );
}
