import { Code, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";

import type { RequestDetail, RequestRow, Attempt } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import { Empty } from "../../ui/empty.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import kit from "../../ui/kit.module.css";
import { addUsd, showUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Note, Page, Panel } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList } from "../models/fact-list.tsx";
import { AttemptTimeline, AttemptWaterfall } from "./attempt-timeline.tsx";
import { EndingBadge } from "./ending-badge.tsx";
import { endingOfRequest, inAndOut, endingOfAttempt, type Ending } from "./outcome-labels.ts";
import { EndingReasons } from "./refusal-reasons.tsx";
import styles from "./usage.module.css";
import { CopyTextButton } from "../../ui/buttons.tsx";

const CRUMBS = [{ label: "Usage", to: "/usage" }];
const IN_FLIGHT_MS = 2_000;

export function RequestPage() {
  const { requestId = "" } = useParams({ strict: false });
  const asked = { params: { request_id: requestId } };
  const detail = useAnswer("GET /api/console/requests/:request_id", asked, {
    refetchMs: (last) => (last?.request.status === "in_flight" ? IN_FLIGHT_MS : undefined),
  });
  return (
    <Page
      title={chooseTitle(detail.data)}
      crumbs={CRUMBS}
      lead={<Copyable value={requestId} label="request ID" />}
      actions={
        detail.data === undefined ? undefined : (
          <CopyTextButton value={supportText(detail.data)} label="Copy for support" />
        )
      }
    >
      <Answer of={detail} rows={12}>
        {(data) => <RequestParts detail={data} />}
      </Answer>
    </Page>
  );
}

export function chooseTitle(detail: RequestDetail | undefined): string {
  if (detail === undefined) return "Request";
  return `Request ${endingOfRequest(detail.request).word.toLowerCase()}`;
}

export function RequestParts({ detail }: { readonly detail: RequestDetail }) {
  const { request, attempts } = detail;
  return (
    <>
      <Cards detail={detail} />
      <Panel title="Details">
        <RequestFacts request={request} />
        <EndingReasons detail={detail} />
        <AnswerHeaders detail={detail} />
        <Note mt="md">Prompts and answers are not stored.</Note>
      </Panel>
      <Panel title={attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`}>
        {attempts.length === 0 ? (
          <Empty title="No provider was asked, so this request cost nothing." />
        ) : (
          <>
            {attempts.length > 1 ? <AttemptWaterfall detail={detail} /> : null}
            <AttemptTimeline attempts={attempts} />
          </>
        )}
      </Panel>
    </>
  );
}

function Cards({ detail: { request, attempts } }: { readonly detail: RequestDetail }) {
  const reserved = addUsd(...attempts.map(({ reserved_usd }) => reserved_usd));
  const { tokens, first_byte_ms, duration_ms } = request;
  const sums = tokens && inAndOut(tokens);
  const speed = tokensPerSecond(request);
  return (
    <div className={styles.cards}>
      <FigureCard
        label="Cost"
        value={attempts.length === 0 ? "–" : <Money usd={request.cost_usd} isBrief />}
        hint={attempts.length === 0 ? undefined : `${showUsd(reserved)} reserved`}
      />
      <FigureCard
        label="Duration"
        value={formatMs(duration_ms)}
        // Without tokens, the first byte was part of an error.
        hint={
          first_byte_ms === null || tokens === null
            ? undefined
            : `First token after ${formatMs(first_byte_ms)}`
        }
      />
      <FigureCard
        label="Tokens"
        value={sums === null ? "–" : formatCount(sums.in + sums.out)}
        hint={
          tokens === null || sums === null
            ? undefined
            : `${formatCount(sums.in)} in (${formatCount(tokens.cached_prompt)} cached), ${formatCount(sums.out)} out`
        }
      />
      <FigureCard
        label="Throughput"
        value={speed === undefined ? "–" : `${formatCount(speed)} / s`}
        hint={speed === undefined ? "Of streamed answers" : "Output tokens after the first token"}
      />
    </div>
  );
}

/** Output tokens per second after the first token. Undefined if not streamed or not measured. */
function tokensPerSecond(request: RequestRow): number | undefined {
  const { tokens, first_byte_ms, duration_ms } = request;
  if (!request.stream || tokens === null || first_byte_ms === null || duration_ms === null)
    return undefined;
  const writingMs = duration_ms - first_byte_ms;
  return writingMs < 1 ? undefined : (inAndOut(tokens).out * 1000) / writingMs;
}

function RequestFacts({ request }: { readonly request: RequestRow }) {
  const { model, key_id, source, provider } = request;
  return (
    <FactList
      facts={[
        ["Status", <EndingBadge ending={endingOfRequest(request)} />],
        ["Created", <Time at={request.created_at} precision="second" />],
        [
          "Model",
          model === null ? (
            "–"
          ) : (
            <AppLink to="/models/$" params={{ _splat: model }}>
              {model}
            </AppLink>
          ),
        ],
        [
          "Key",
          key_id === null ? (
            source
          ) : (
            <AppLink to="/keys/$keyId" params={{ keyId: key_id }}>
              {source}
            </AppLink>
          ),
        ],
        ["Provider", provider ?? "–"],
        ["Route", <code>{request.route}</code>],
        ["Streaming", request.stream ? "Yes" : "No"],
      ]}
    />
  );
}

function AnswerHeaders({ detail }: { readonly detail: RequestDetail }) {
  const { dropped_params: dropped, response_headers: headers } = detail;
  if (headers.length === 0) return null;
  return (
    <div className={styles.headers}>
      {dropped.length === 0 ? null : (
        <Text mb="md">
          Parameters that were dropped: <Code>{dropped.join(", ")}</Code>. They were not sent to the
          provider, which does not take them.
        </Text>
      )}
      <details className={kit.more}>
        <summary>Response headers ({headers.length})</summary>
        <FactList facts={headers.map(({ name, value }) => [name, <Code>{value}</Code>])} />
      </details>
    </div>
  );
}

/** All that support needs to explain a request, but neither its prompt nor its answer. */
function supportText(detail: RequestDetail): string {
  const { request, attempts } = detail;
  return [
    `Request ${request.request_id}`,
    `Created ${request.created_at}`,
    `Route ${request.route}, ${request.stream ? "streamed" : "whole"}`,
    `Model ${request.model ?? "none"}`,
    `Source ${request.source}${request.key_id === null ? "" : ` (key ${request.key_id})`}`,
    `Status ${describeEnd(endingOfRequest(request))}`,
    `First token ${ms(request.first_byte_ms)}, duration ${ms(request.duration_ms)}`,
    `Cost $${request.cost_usd}`,
    ...attempts.map(attemptText),
    ...detail.response_headers.map(({ name, value }) => `Header ${name}: ${value}`),
  ].join("\n");
}

function attemptText(attempt: Attempt): string {
  const parts = [
    `Attempt ${attempt.n}: ${attempt.provider} (${attempt.upstream_id})`,
    `started ${attempt.started_at}`,
    describeEnd(endingOfAttempt(attempt)),
    `HTTP status ${attempt.upstream_status ?? "none"}`,
    `first token ${ms(attempt.first_byte_ms)}`,
    `duration ${ms(attempt.duration_ms)}`,
    `reserved $${attempt.reserved_usd}`,
    `settled $${attempt.settled_usd} (${attempt.settlement ?? "not settled"})`,
  ];
  return parts.join(", ");
}

function describeEnd({ word, detail }: Ending): string {
  return detail === undefined ? word.toLowerCase() : `${word.toLowerCase()} (${detail})`;
}

function ms(value: number | null): string {
  return value === null ? "unknown" : `${value} ms`;
}
