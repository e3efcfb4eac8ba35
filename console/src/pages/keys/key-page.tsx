import { Button, SimpleGrid, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo, useState, type ReactNode } from "react";

import type { Key, KeyDetail } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMay } from "../../api/use-may.ts";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { useSampleCall } from "../../snippets/use-sample-call.ts";
import { Answer } from "../../ui/answer.tsx";
import { LinkButton } from "../../ui/app-link.tsx";
import { StackedBars } from "../../ui/charts/stacked-bars.tsx";
import { controlled } from "../../ui/controlled.ts";
import { formatCount } from "../../ui/count.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { fieldError } from "../../ui/field-errors.ts";
import { FigureCard } from "../../ui/figure-card.tsx";
import { Money } from "../../ui/money.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RoleNote } from "../../ui/role-note.tsx";
import { SecretOnce } from "../../ui/secret-once.tsx";
import { Time, showUtc } from "../../ui/time.tsx";
import { CapLeftPanel } from "./cap-left-panel.tsx";
import { DialogForm } from "./form-dialog.tsx";
import { KEY_CAPS, PERIOD_NAMES } from "./key-caps.ts";
import { KeyDialogs } from "./key-dialogs.tsx";
import { KeyFacts } from "./key-facts.tsx";
import { KeyRequestsPanel } from "./key-requests-panel.tsx";
import { toKeyStatus } from "./match-keys.ts";
import { strictestCap } from "./strictest-cap.ts";
import { useSubmission } from "./use-submission.ts";

export function KeyPage(): ReactNode {
  const { keyId = "" } = useParams({ strict: false }) as { readonly keyId?: string };
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

function KeyActions({ detail }: { readonly detail: KeyDetail }): ReactNode {
  const [opened, setOpened] = useState<"edit" | "rotate" | "disable">();
  const close = (): void => setOpened(undefined);
  const mayChange = useMay("keys");
  return (
    <>
      <Button variant="default" disabled={!mayChange} onClick={() => setOpened("edit")}>
        Edit
      </Button>
      <Button variant="default" disabled={!mayChange} onClick={() => setOpened("rotate")}>
        Rotate
      </Button>
      <Button variant="default" disabled={!mayChange} onClick={() => setOpened("disable")}>
        Disable
      </Button>
      <KeyDialogs
        edited={opened === "edit" ? detail.key : undefined}
        disabled={opened === "disable" ? detail.key : undefined}
        onClose={close}
      />
      <RotateKey rotated={detail.key} opened={opened === "rotate"} onClose={close} />
    </>
  );
}

interface RotateProps {
  readonly rotated: Key;
  readonly opened: boolean;
  readonly onClose: () => void;
}

function RotateKey({ rotated, opened, onClose }: RotateProps): ReactNode {
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <Dialog opened={opened} title={`Rotate “${rotated.name}”`} onClose={onClose}>
        <RotateForm rotated={rotated} onClose={onClose} onRotated={setSecret} />
      </Dialog>
      <SecretOnce
        opened={secret !== undefined}
        title={`Save the new secret of “${rotated.name}”`}
        secret={secret ?? ""}
        note="Copy it now. It is shown only once and cannot be recovered."
        onSaved={() => setSecret(undefined)}
      />
    </>
  );
}

function RotateForm(props: {
  readonly rotated: Key;
  readonly onClose: () => void;
  readonly onRotated: (secret: string) => void;
}): ReactNode {
  const client = useQueryClient();
  const submission = useSubmission();
  const [hours, setHours] = useState("24");
  const isWhole = /^\d{1,2}$/.test(hours) && Number(hours) <= GRACE_HOURS_MAX;
  const send = (): void => {
    if (!isWhole) return;
    submission.run(async () => {
      const { secret } = await call("POST /api/console/keys/:key_id/rotate", {
        params: { key_id: props.rotated.key_id },
        body: { grace_hours: Number(hours) },
      });
      props.onClose();
      props.onRotated(secret);
      await client.invalidateQueries();
    });
  };
  return (
    <DialogForm
      submission={submission}
      fields={["grace_hours"]}
      submitLabel="Make a new secret"
      onSubmit={send}
      onCancel={props.onClose}
    >
      <Text size="sm">
        The key keeps its name, caps, limits, tags and history. Both secrets count as one key.
      </Text>
      <TextInput
        label="Hours for which the old secret still works"
        description={`0 to ${GRACE_HOURS_MAX}. With 0 it stops working at once.`}
        data-autofocus
        inputMode="numeric"
        maxLength={2}
        {...controlled(hours, setHours)}
        error={
          isWhole
            ? fieldError(submission.fault, "grace_hours")
            : `Enter a whole number from 0 to ${GRACE_HOURS_MAX}.`
        }
      />
    </DialogForm>
  );
}

const GRACE_HOURS_MAX = 72;

function KeyFigures({ detail }: { readonly detail: KeyDetail }): ReactNode {
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

function CapFigure({ detail }: { readonly detail: KeyDetail }): ReactNode {
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
function UnusablePanel({ isExpired }: { readonly isExpired: boolean }): ReactNode {
  return (
    <Panel title={isExpired ? "This key has expired" : "Create a replacement"}>
      <Text size="sm" mb="sm">
        {isExpired
          ? "To use it again, choose Edit and set a later date. A new key shares the same balance."
          : "This key is permanently disabled. A new key shares the same balance."}
      </Text>
      <LinkButton to="/keys">Go to keys</LinkButton>
    </Panel>
  );
}

function SamplePanel({ of: key }: { readonly of: Key }): ReactNode {
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

function KeySpendPanel({ days }: { readonly days: KeyDetail["days"] }): ReactNode {
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
