import type { RequestRow } from "../../api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { numberColumn, column } from "../../ui/columns.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import type { Column } from "../../ui/data-table.tsx";
import kit from "../../ui/kit.module.css";
import { parseUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { showUtc } from "../../ui/time.tsx";
import { errorAdvice } from "./attempt-labels.ts";
import { EndingBadge } from "./ending-badge.tsx";
import { endingOfRequest, inAndOut } from "./outcome-labels.ts";

export const REQUEST_COLUMNS: readonly Column<RequestRow>[] = [
  {
    id: "time",
    label: "Time (UTC)",
    phone: "plain",
    sortValue: ({ created_at }) => Date.parse(created_at),
    render: ({ request_id, created_at }) => (
      <AppLink to="/requests/$requestId" params={{ requestId: request_id }} size="sm">
        <ShortTime at={created_at} />
      </AppLink>
    ),
  },
  column("status", "Status", (row) => <EndingBadge ending={endingOfRequest(row)} />, {
    phone: "mark",
  }),
  column("model", "Model", ({ model }) => <span title={model ?? undefined}>{model ?? "–"}</span>, {
    sharePercent: 30,
    phone: "lead",
  }),
  {
    id: "source",
    label: "Key",
    sharePercent: 15,
    phone: "plain",
    render: ({ key_id, source }) =>
      key_id === null ? (
        <span title={source}>{source}</span>
      ) : (
        <AppLink to="/keys/$keyId" params={{ keyId: key_id }} size="sm">
          <span title={source}>{source}</span>
        </AppLink>
      ),
  },
  column(
    "provider",
    "Provider",
    ({ provider }) => <span title={provider ?? undefined}>{provider ?? "–"}</span>,
    { sharePercent: 15 },
  ),
  {
    id: "error",
    label: "Error",
    sharePercent: 20,
    shownFrom: "wide",
    render: (row) => {
      const advice = errorAdvice(row);
      return advice === undefined ? "–" : <span title={advice}>{advice}</span>;
    },
  },
  column(
    "cost",
    "Cost",
    ({ attempts, cost_usd }) => (attempts === 0 ? "–" : <Money usd={cost_usd} />),
    { align: "right", phone: "end", sortValue: ({ cost_usd }) => parseUsd(cost_usd) },
  ),
  numberColumn("tokens", "Tokens", ({ tokens }) => tokens && sumTokens(tokens), {
    phone: "plain",
    isSortable: true,
    render: ({ tokens }) => (
      <span className={kit.figures}>{tokens === null ? "–" : inToOut(tokens)}</span>
    ),
  }),
  numberColumn("cached", "Cached", ({ tokens }) => tokens?.cached_prompt, {
    shownFrom: "wide",
    isSortable: true,
  }),
  numberColumn("first", "First token", ({ first_byte_ms: ms }) => ms, {
    show: formatMs,
    shownFrom: "wide",
    isSortable: true,
  }),
  numberColumn("duration", "Duration", ({ duration_ms: ms }) => ms, {
    show: formatMs,
    isSortable: true,
  }),
  numberColumn("attempts", "Attempts", ({ attempts }) => attempts, {
    shownFrom: "wide",
    isSortable: true,
  }),
  {
    id: "route",
    label: "Route",
    shownFrom: "asked",
    render: ({ route, stream }) => (
      <span className={kit.figures}>{stream ? `${route}, streamed` : route}</span>
    ),
  },
  column(
    "id",
    "Request ID",
    ({ request_id }) => <Copyable value={request_id} label="request ID" short />,
    { shownFrom: "asked" },
  ),
];

function inToOut(tokens: NonNullable<RequestRow["tokens"]>): string {
  const sums = inAndOut(tokens);
  return `${formatCount(sums.in)} → ${formatCount(sums.out)}`;
}

function sumTokens(tokens: NonNullable<RequestRow["tokens"]>): number {
  const sums = inAndOut(tokens);
  return sums.in + sums.out;
}

/** A time without year and zone, for a narrow column, whose label names the zone. */
function ShortTime({ at }: { readonly at: string }) {
  const text = showUtc(at, "second")
    .replace(/ \d{4},/, ",")
    .replace(/ UTC$/, "");
  return (
    <time dateTime={at} title={showUtc(at, "second")} className={kit.figures}>
      {text}
    </time>
  );
}
