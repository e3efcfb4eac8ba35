import { Button, SimpleGrid, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import type { Key, KeyDetail } from "../../api/contract.ts";
import { call } from "../../api/client.ts";
import { useAnswer, useMay } from "../../api/use-answer.ts";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { useSampleCall } from "../../snippets/use-sample-call.ts";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton, AppLink } from "../../ui/app-link.tsx";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { formatCount } from "../../ui/format.ts";
import { FigureCard } from "../../ui/figure-card.tsx";
import { Money } from "../../ui/money.tsx";
import { Page, Panel, RoleNote } from "../../ui/page.tsx";
import { SecretOnce } from "../../ui/secret-once.tsx";
import { Time, showUtc } from "../../ui/time.tsx";
import { CapLeftPanel, KeyFacts } from "./key-facts.tsx";
import { DialogForm, inDialog, useForm } from "../../ui/form-dialog.tsx";
import { KEY_CAPS, PERIOD_NAMES, strictestCap } from "./caps.ts";
import { KeyDialogs } from "./key-table.tsx";
import { toKeyStatus } from "./match-keys.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { REQUEST_COLUMNS } from "../usage/request-columns.tsx";

export function KeyPage() {
  const { keyId = "" } = useParams({ strict: false });
  const answer = useAnswer("GET /api/console/keys/:key_id", { params: { key_id: keyId } });
  const detail = answer.data;
  return (
    <Page
      title={detail?.key.name ?? "Key"}
      crumbs={[{ label: "Keys", to: "/keys" }]}
      actions={detail?.key.disabled_at === null ? <KeyActions detail={detail} /> : undefined}
    >
      <Answer of={answer} rows={12}>
        {(shown) => (
          <>
            <RoleNote need="keys" what="edit and disable keys" />
            <KeyFigures detail={shown} />
            <KeyFacts shown={shown.key} />
            <KeySpendPanel days={shown.days} />
            <CapLeftPanel detail={shown} />
            <KeyRequestsPanel keyId={shown.key.key_id} since={shown.days[0]?.day} />
            {toKeyStatus(shown.key) === "active" ? (
              <SamplePanel of={shown.key} />
            ) : (
              <UnusablePanel isExpired={shown.key.disabled_at === null} />
            )}
          </>
        )}
      </Answer>
    </Page>
  );
}

const ACTIONS = ["Edit", "Rotate", "Disable"] as const;

function KeyActions({ detail }: { readonly detail: KeyDetail }) {
  const [opened, setOpened] = useState<(typeof ACTIONS)[number]>();
  const close = (): void => setOpened(undefined);
  const mayChange = useMay("keys");
  return (
    <>
      {ACTIONS.map((action) => (
        <Button
          key={action}
          variant="default"
          disabled={!mayChange}
          onClick={() => setOpened(action)}
        >
          {action}
        </Button>
      ))}
      <KeyDialogs
        edited={opened === "Edit" ? detail.key : undefined}
        disabled={opened === "Disable" ? detail.key : undefined}
        onClose={close}
      />
      <RotateKey rotated={detail.key} opened={opened === "Rotate"} onClose={close} />
    </>
  );
}

function RotateKey(props: Omit<RotateProps, "onRotated"> & { readonly opened: boolean }) {
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <RotateDialog {...props} onRotated={setSecret} />
      <SecretOnce
        opened={secret !== undefined}
        title={`Save the new secret of “${props.rotated.name}”`}
        secret={secret ?? ""}
        note="Copy it now. It is shown only once and cannot be recovered."
        onSaved={() => setSecret(undefined)}
      />
    </>
  );
}

interface RotateProps {
  readonly rotated: Key;
  readonly onClose: () => void;
  readonly onRotated: (secret: string) => void;
}

const RotateDialog = inDialog(({ rotated }) => `Rotate “${rotated.name}”`, RotateForm);

function RotateForm(props: RotateProps) {
  const client = useQueryClient();
  const form = useForm({ grace_hours: "24" });
  const { grace_hours: hours } = form.typed;
  const { key_id, old_works_until: oldUntil } = props.rotated;
  const isWhole = /^\d{1,2}$/.test(hours) && Number(hours) <= GRACE_HOURS_MAX;
  const send = (): void => {
    if (!isWhole) return;
    form.submission.run(async () => {
      const { secret } = await call("POST /api/console/keys/:key_id/rotate", {
        params: { key_id },
        body: { grace_hours: Number(hours) },
      });
      props.onClose();
      props.onRotated(secret);
      await client.invalidateQueries();
    });
  };
  const { error, ...field } = form.text("grace_hours");
  return (
    <DialogForm
      form={form}
      submitLabel="Make a new secret"
      onSubmit={send}
      onCancel={props.onClose}
    >
      <Text size="sm">
        The key keeps its name, caps, limits, tags and history. Both secrets count as one key.
      </Text>
      {oldUntil === null ? null : (
        <Text size="sm">
          The secret before this one works until <Time at={oldUntil} />. Rotating again ends it at
          once.
        </Text>
      )}
      <TextInput
        label="Hours for which the old secret still works"
        description={`0 to ${GRACE_HOURS_MAX}. With 0 it stops working at once.`}
        data-autofocus
        inputMode="numeric"
        maxLength={2}
        {...field}
        error={isWhole ? error : `Enter a whole number from 0 to ${GRACE_HOURS_MAX}.`}
      />
    </DialogForm>
  );
}

const GRACE_HOURS_MAX = 72;

function KeyFigures({ detail }: { readonly detail: KeyDetail }) {
  const { key } = detail;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <FigureCard
        label="Spent this month"
        value={<Money usd={key.spent_month_usd} headline />}
        hint="Since the 1st, UTC"
      />
      <CapFigure detail={detail} />
      <FigureCard
        label="Requests per minute"
        value={formatCount(key.rpm_effective)}
        hint={`Ceiling ${formatCount(key.rpm_ceiling)}${
          key.rpm === null ? "" : `, your limit ${formatCount(key.rpm)}`
        }`}
      />
      <FigureCard
        label="Requests in 30 days"
        value={formatCount(detail.days.reduce((sum, { requests }) => sum + requests, 0))}
        hint={
          key.last_used_at === null ? (
            "Never used"
          ) : (
            <>
              Last used <Time at={key.last_used_at} />
            </>
          )
        }
      />
    </SimpleGrid>
  );
}

function CapFigure({ detail }: { readonly detail: KeyDetail }) {
  const strictest = strictestCap(detail.key, Date.now());
  const cap = KEY_CAPS.find(({ name }) => name === strictest?.name);
  if (strictest === undefined || cap === undefined) {
    return (
      <FigureCard label="Cap" value="No cap" hint="The organization's cap applies, if it has one" />
    );
  }
  return (
    <FigureCard
      label={`${PERIOD_NAMES[cap.period]} cap`}
      value={<Money usd={detail.key[cap.field] ?? "0"} headline />}
      hint={
        <>
          <Money usd={strictest.leftUsd} /> left · resets on{" "}
          <Time at={detail[cap.resetAt]} precision="day" />
        </>
      }
    />
  );
}

/** Explains what to do: an expired key can get a later date; a disabled key never works again. */
function UnusablePanel({ isExpired }: { readonly isExpired: boolean }) {
  return (
    <Panel title={isExpired ? "This key has expired" : "Create a replacement"}>
      <Text size="sm" mb="sm">
        {isExpired
          ? "To use it again, choose Edit and set a later date. A new key shares the same balance."
          : "This key is permanently disabled. A new key shares the same balance."}
      </Text>
      <LinkButton to="/keys" variant="filled">
        Go to keys
      </LinkButton>
    </Panel>
  );
}

function SamplePanel({ of: key }: { readonly of: Key }) {
  const { of, hasOneRoute = false } = useSampleCall(key.models);
  return (
    <Panel title="Use this key">
      <CallSnippets
        {...{ of, hasOneRoute }}
        note={`The key cannot be shown again. Set it as the environment variable ${KEY_VARIABLE}.`}
      />
    </Panel>
  );
}

function KeySpendPanel({ days }: { readonly days: KeyDetail["days"] }) {
  const buckets = useMemo(
    () =>
      days.map(({ day, spent_usd: spent }) => {
        const label = showUtc(day, "day");
        return { id: day, label, tick: label.replace(/ \d{4}$/, ""), values: { spent } };
      }),
    [days],
  );
  return (
    <Panel title="Spend by day">
      <StackedBars
        label="Spend with this key by UTC day"
        unit="usd"
        parts={PARTS}
        buckets={buckets}
        bucketLabel="Day (UTC)"
        heightPx={180}
      />
    </Panel>
  );
}

const PARTS = [{ id: "spent", name: "Spent", isWhole: true }];

const SHOWN_ROWS = 10;
const COLUMNS = REQUEST_COLUMNS.filter(
  ({ id, shownFrom }) => id !== "source" && shownFrom !== "asked",
);

function KeyRequestsPanel(props: {
  readonly keyId: string;
  /** UTC day from which requests are shown. If undefined, the server's default range applies. */
  readonly since: string | undefined;
}) {
  const { keyId, since } = props;
  const from = since === undefined ? undefined : `${since.slice(0, 10)}T00:00:00.000Z`;
  const answer = useAnswer("GET /api/console/requests", {
    query: { key: keyId, limit: SHOWN_ROWS, from },
  });
  return (
    <Panel
      title="Recent requests"
      actions={
        <AppLink to="/usage" search={{ key: keyId, range: "30d" }} size="sm">
          View in usage
        </AppLink>
      }
    >
      <Answer of={answer} rows={5}>
        {(list) => (
          <DataTable
            caption="Latest requests of this key"
            columns={COLUMNS}
            rows={list.data}
            rowKey={(row) => row.request_id}
            empty="No requests with this key in the last 30 days."
          />
        )}
      </Answer>
    </Panel>
  );
}
