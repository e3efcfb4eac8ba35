import type { ReactElement } from "react";

import type { RequestRow } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { numberColumn } from "../../ui/columns.tsx";
import { formatCount, formatMs } from "../../ui/count.tsx";
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
  {
    id: "status",
    label: "Status",
    phone: "mark",
    render: (row) => <EndingBadge ending={endingOfRequest(row)} />,
  },
  {
    id: "model",
    label: "Model",
    sharePercent: 30,
    phone: "lead",
    render: ({ model }) => <span title={model ?? undefined}>{model ?? "–"}</span>,
  },
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
  {
    id: "provider",
    label: "Provider",
    sharePercent: 15,
    render: ({ provider }) => <span title={provider ?? undefined}>{provider ?? "–"}</span>,
  },
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
  {
    id: "cost",
    label: "Cost",
    align: "right",
    phone: "end",
    sortValue: ({ cost_usd }) => parseUsd(cost_usd),
    render: ({ attempts, cost_usd }) => (attempts === 0 ? "–" : <Money usd={cost_usd} />),
  },
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
  {
    id: "id",
    label: "Request ID",
    shownFrom: "asked",
    render: ({ request_id }) => <Copyable value={request_id} label="request ID" short />,
  },
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
function ShortTime({ at }: { readonly at: string }): ReactElement {
  const text = showUtc(at, "second")
    .replace(/ \d{4},/, ",")
    .replace(/ UTC$/, "");
  return (
    <time dateTime={at} title={showUtc(at, "second")} className={kit.figures}>
      {text}
    </time>
  );
}
