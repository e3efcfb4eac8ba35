import { Text, Title } from "@mantine/core";

import type { Attempt, RequestDetail } from "../../api/contract.ts";
import { column, figuresColumn, numberColumn } from "../../ui/columns.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { StatusBadge } from "../../ui/badge.tsx";
import { formatMs } from "../../ui/format.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { showUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList } from "../models/fact-list.tsx";
import { showPrice } from "../models/price-labels.ts";
import { failoverReason } from "./attempt-labels.ts";
import { chargeNote, lineAmounts, type AttemptLine } from "./line-amounts.ts";
import { endingOfAttempt, settlementLabel } from "./outcome-labels.ts";
import { EndingBadge } from "./ending-badge.tsx";
import styles from "./usage.module.css";
import { buildWaterfall, type WaterfallBar } from "./waterfall.ts";
import { Note } from "../../ui/page.tsx";

export function AttemptTimeline({ attempts }: { readonly attempts: readonly Attempt[] }) {
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

function AttemptItem(props: { readonly attempt: Attempt; readonly moved: string | undefined }) {
  const { attempt, moved } = props;
  return (
    <li className={styles.attempt}>
      <div className={styles.attemptHead}>
        <Title order={3} size="h5">
          {attempt.n}.{" "}
          <AppLink to="/providers/$providerId" params={{ providerId: attempt.provider }}>
            {attempt.provider}
          </AppLink>
        </Title>
        <EndingBadge ending={endingOfAttempt(attempt)} />
      </div>
      <FactList
        facts={[
          ["Deployment", <code>{attempt.upstream_id}</code>],
          ["Model reported", <ReportedModel attempt={attempt} />],
          ["Started", <Time at={attempt.started_at} precision="second" />],
          // The first byte of a refused attempt belongs to its error, so it is not a token.
          [isRefusal(attempt) ? "First byte" : "First token", formatMs(attempt.first_byte_ms)],
          ["Duration", formatMs(attempt.duration_ms)],
          ["HTTP status", attempt.upstream_status ?? "none"],
          ["Reserved", <Money usd={attempt.reserved_usd} />],
          ["Settled", <Money usd={attempt.settled_usd} isBrief />],
        ]}
      />
      <Note mt="xs">{settlementLabel(attempt.settlement)}</Note>
      <AttemptLines attempt={attempt} />
      {moved === undefined ? null : <div className={styles.moved}>{moved}</div>}
    </li>
  );
}

function isRefusal({ outcome }: Attempt): boolean {
  return outcome === "failed" || outcome === "refused";
}

function ReportedModel({ attempt }: { readonly attempt: Attempt }) {
  const { served_model, substituted } = attempt;
  if (served_model === null) return <>none</>;
  return substituted === true ? (
    <StatusBadge tone="warn">{`${served_model}, not the listed model`}</StatusBadge>
  ) : (
    <code>{served_model}</code>
  );
}

function AttemptLines({ attempt }: { readonly attempt: Attempt }) {
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
      <Note size="xs" mt={6}>
        Prices in effect when the request was admitted. {chargeNote(attempt)}
      </Note>
    </div>
  );
}

const COLUMNS: readonly Column<AttemptLine>[] = [
  column("name", "Tokens", ({ name }) => name, { phone: "lead" }),
  numberColumn("count", "Count", ({ tokens }) => tokens, { phone: "line" }),
  figuresColumn("price", "Price per million", ({ price }) => showPrice(price), { phone: "line" }),
  figuresColumn(
    "amount",
    "Amount",
    ({ amount }) => (amount === undefined ? "–" : showUsd(amount)),
    {
      phone: "end",
    },
  ),
];

export function AttemptWaterfall(props: { readonly detail: RequestDetail }) {
  const { request, attempts } = props.detail;
  return (
    <ol className={styles.waterfall} aria-label="When each attempt ran">
      {buildWaterfall(request, attempts).map((bar) => (
        <li key={bar.n} className={styles.waterfallRow}>
          <Text span size="sm" className={styles.waterfallName}>
            {bar.n}. {bar.provider}
          </Text>
          <Bar bar={bar} />
          <Note span>{describeTimes(bar)}</Note>
        </li>
      ))}
    </ol>
  );
}

function Bar({ bar }: { readonly bar: WaterfallBar }) {
  const place = { left: percent(bar.from), width: percent(bar.width) };
  return (
    <span className={styles.waterfallTrack} aria-hidden>
      <span className={styles.waterfallBar} data-served={bar.isServed} style={place}>
        {bar.firstToken === null ? null : (
          <span className={styles.waterfallToken} style={{ left: percent(bar.firstToken) }} />
        )}
      </span>
    </span>
  );
}

function describeTimes({ fromMs, durationMs, firstTokenMs }: WaterfallBar): string {
  const began = `+${formatMs(fromMs)}`;
  const lasted = durationMs === null ? "still running" : `took ${formatMs(durationMs)}`;
  const first = firstTokenMs === null ? "" : `, first token after ${formatMs(firstTokenMs)}`;
  return `${began}, ${lasted}${first}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}
