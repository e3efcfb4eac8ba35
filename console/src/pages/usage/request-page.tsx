import { Button, Code, CopyButton, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Check, Copy } from "lucide-react";
import type { ReactElement } from "react";

import type { RequestDetail, RequestRow } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Answer } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount, formatMs } from "../../ui/count.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FigureCard } from "../../ui/figure-card.tsx";
import kit from "../../ui/kit.module.css";
import { addUsd, showUsd } from "../../ui/money-math.ts";
import { Money } from "../../ui/money.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { FactList } from "../models/fact-list.tsx";
import { AttemptTimeline } from "./attempt-timeline.tsx";
import { AttemptWaterfall } from "./attempt-waterfall.tsx";
import { EndingBadge } from "./ending-badge.tsx";
import { endingOfRequest, inAndOut } from "./outcome-labels.ts";
import { EndingReasons } from "./refusal-reasons.tsx";
import { supportText } from "./support-text.ts";
import styles from "./usage.module.css";

const CRUMBS = [{ label: "Usage", to: "/usage" }];
const IN_FLIGHT_MS = 2_000;

export function RequestPage(): ReactElement {
  const { requestId = "" } = useParams({ strict: false });
  const asked = { params: { request_id: requestId } };
  const detail = useAnswer("GET /api/console/requests/:request_id", asked);
  const isInFlight = detail.data?.request.status === "in_flight";
  // The hook is called again for the same cached route, to poll it while the request is in flight.
  useAnswer("GET /api/console/requests/:request_id", asked, {
    enabled: isInFlight,
    ...(isInFlight ? { refetchMs: IN_FLIGHT_MS } : {}),
  });
  return (
    <Page
      title={chooseTitle(detail.data)}
      crumbs={CRUMBS}
      lead={<Copyable value={requestId} label="request ID" />}
      actions={detail.data === undefined ? undefined : <SupportButton detail={detail.data} />}
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

function SupportButton({ detail }: { readonly detail: RequestDetail }): ReactElement {
  return (
    <CopyButton value={supportText(detail)} timeout={1500}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          onClick={copy}
          leftSection={copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
        >
          {copied ? "Copied" : "Copy for support"}
        </Button>
      )}
    </CopyButton>
  );
}

export function RequestParts({ detail }: { readonly detail: RequestDetail }): ReactElement {
  const { request, attempts } = detail;
  return (
    <>
      <Cards detail={detail} />
      <Panel title="Details">
        <RequestFacts request={request} />
        <EndingReasons detail={detail} />
        <AnswerHeaders detail={detail} />
        <Text size="sm" c="dimmed" mt="md">
          Prompts and answers are not stored.
        </Text>
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

function Cards({
  detail: { request, attempts },
}: {
  readonly detail: RequestDetail;
}): ReactElement {
  const reserved = addUsd(...attempts.map(({ reserved_usd }) => reserved_usd));
  const { tokens, first_byte_ms, duration_ms } = request;
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
        value={tokens === null ? "–" : formatCount(inAndOut(tokens).in + inAndOut(tokens).out)}
        hint={
          tokens === null
            ? undefined
            : `${formatCount(inAndOut(tokens).in)} in (${formatCount(tokens.cached_prompt)} cached), ${formatCount(inAndOut(tokens).out)} out`
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

/** Output tokens per second after the first token. Undefined if the answer was not streamed. */
function tokensPerSecond(request: RequestRow): number | undefined {
  const { tokens, first_byte_ms, duration_ms } = request;
  if (!request.stream || tokens === null || first_byte_ms === null || duration_ms === null)
    return undefined;
  const ms = duration_ms - first_byte_ms;
  return ms < 1 ? undefined : (inAndOut(tokens).out * 1000) / ms;
}

function RequestFacts({ request }: { readonly request: RequestRow }): ReactElement {
  const { model, key_id, source, provider } = request;
  return (
    <FactList
      facts={[
        { label: "Status", value: <EndingBadge ending={endingOfRequest(request)} /> },
        { label: "Created", value: <Time at={request.created_at} precision="second" /> },
        {
          label: "Model",
          value:
            model === null ? (
              "–"
            ) : (
              <AppLink to="/models/$" params={{ _splat: model }} inherit>
                {model}
              </AppLink>
            ),
        },
        {
          label: "Key",
          value:
            key_id === null ? (
              source
            ) : (
              <AppLink to="/keys/$keyId" params={{ keyId: key_id }} inherit>
                {source}
              </AppLink>
            ),
        },
        { label: "Provider", value: provider ?? "–" },
        { label: "Route", value: <code>{request.route}</code> },
        { label: "Streaming", value: request.stream ? "Yes" : "No" },
      ]}
    />
  );
}

function AnswerHeaders({
  detail: { dropped_params: dropped, response_headers: headers },
}: {
  readonly detail: RequestDetail;
}): ReactElement | null {
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
        <FactList
          facts={headers.map(({ name, value }) => ({ label: name, value: <Code>{value}</Code> }))}
        />
      </details>
    </div>
  );
}
