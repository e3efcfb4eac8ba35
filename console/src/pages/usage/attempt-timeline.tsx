import { Text, Title } from "@mantine/core";
import type { ReactElement } from "react";

import type { Attempt } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatCount, formatMs } from "../../ui/count.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import kit from "../../ui/kit.module.css";
import { showUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList } from "../models/fact-list.tsx";
import { showPrice } from "../models/price-labels.ts";
import { failoverReason } from "./attempt-labels.ts";
import { lineAmounts, type AttemptLine } from "./line-amounts.ts";
import { endingOfAttempt, settlementLabel } from "./outcome-labels.ts";
import { EndingBadge } from "./ending-badge.tsx";
import styles from "./usage.module.css";

export function AttemptTimeline(props: { readonly attempts: readonly Attempt[] }): ReactElement {
  const { attempts } = props;
  return (
    <ol className={styles.timeline}>
      {attempts.map((attempt, at) => (
        <AttemptItem
          key={attempt.n}
          attempt={attempt}
          moved={failoverReason(attempt, attempts[at + 1])}
        />
      ))}
    </ol>
  );
}

function AttemptItem(props: {
  readonly attempt: Attempt;
  readonly moved: string | undefined;
}): ReactElement {
  const { attempt, moved } = props;
  return (
    <li className={styles.attempt}>
      <div className={styles.attemptHead}>
        <Title order={3} size="h5">
          {attempt.n}.{" "}
          <AppLink to="/providers/$providerId" params={{ providerId: attempt.provider }} inherit>
            {attempt.provider}
          </AppLink>
        </Title>
        <EndingBadge ending={endingOfAttempt(attempt)} />
      </div>
      <FactList
        facts={[
          { label: "Deployment", value: <code>{attempt.upstream_id}</code> },
          { label: "Model reported", value: <ReportedModel attempt={attempt} /> },
          { label: "Started", value: <Time at={attempt.started_at} precision="second" /> },
          {
            // The first byte of a refused attempt belongs to its error, so it is no token.
            label: isRefusal(attempt) ? "First byte" : "First token",
            value: formatMs(attempt.first_byte_ms),
          },
          { label: "Duration", value: formatMs(attempt.duration_ms) },
          { label: "HTTP status", value: attempt.upstream_status ?? "none" },
          { label: "Reserved", value: <Money usd={attempt.reserved_usd} /> },
          { label: "Settled", value: <Money usd={attempt.settled_usd} isBrief /> },
        ]}
      />
      <Text size="sm" c="dimmed" mt="xs">
        {settlementLabel(attempt.settlement)}
      </Text>
      <AttemptLines attempt={attempt} />
      {moved === undefined ? null : <div className={styles.moved}>{moved}</div>}
    </li>
  );
}

function isRefusal({ outcome }: Attempt): boolean {
  return outcome === "failed" || outcome === "refused";
}

/** Shows the model that the provider reported, and marks it if it is not the listed one. */
function ReportedModel({ attempt }: { readonly attempt: Attempt }): ReactElement {
  const { served_model, substituted } = attempt;
  if (served_model === null) return <>none</>;
  return substituted === true ? (
    <StatusBadge tone="warn">{`${served_model}, not the listed model`}</StatusBadge>
  ) : (
    <code>{served_model}</code>
  );
}

function AttemptLines({ attempt }: { readonly attempt: Attempt }): ReactElement | null {
  const lines = lineAmounts(attempt);
  if (lines.length === 0) return null;
  return (
    <div className={styles.lines}>
      <DataTable
        caption={`Tokens of attempt ${attempt.n}, at the prices in effect when it was admitted`}
        columns={COLUMNS}
        rows={lines}
        rowKey={({ sku }) => sku}
      />
      <Text size="xs" c="dimmed" mt={6}>
        Prices in effect when the request was admitted.{" "}
        {lines.some(({ amount }) => amount === undefined)
          ? "The provider reports its own cost, which is what was charged."
          : "The sum is rounded down once, to the micro-dollar."}
      </Text>
    </div>
  );
}

const COLUMNS: readonly Column<AttemptLine>[] = [
  { id: "name", label: "Tokens", phone: "lead", render: ({ name }) => name },
  {
    id: "count",
    label: "Count",
    align: "right",
    phone: "line",
    render: ({ tokens }) => <span className={kit.figures}>{formatCount(tokens)}</span>,
  },
  {
    id: "price",
    label: "Price per million",
    align: "right",
    phone: "line",
    render: ({ price }) => <span className={kit.figures}>{showPrice(price)}</span>,
  },
  {
    id: "amount",
    label: "Amount",
    align: "right",
    phone: "end",
    render: ({ amount }) => (
      <span className={kit.figures}>{amount === undefined ? "–" : showUsd(amount)}</span>
    ),
  },
];
