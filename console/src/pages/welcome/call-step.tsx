import { Alert, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { CircleCheck } from "lucide-react";
import { useEffect, useState } from "react";

import type { FirstRequest, RequestDetail } from "../../api/contract.ts";
import { useAnswer, useSession } from "../../api/use-answer.ts";
import { agentSnippets } from "../../snippets/agent-snippets.ts";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { KEY_VARIABLE } from "../../snippets/chat-snippets.ts";
import { useSampleCall } from "../../snippets/use-sample-call.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { formatCount, formatMs } from "../../ui/format.ts";
import { Money } from "../../ui/money.tsx";
import { inAndOut } from "../usage/outcome-labels.ts";
import { EndingReasons } from "../usage/refusal-reasons.tsx";
import { Note } from "../../ui/page.tsx";

export function CallStep(props: {
  readonly secret: string | undefined;
  readonly first: First;
  readonly hasCredit: boolean;
}) {
  const { secret, first, hasCredit } = props;
  const { gateway_url: gatewayUrl } = useSession().installation;
  const { of, modelId } = useSampleCall(null, secret);
  const agents = agentSnippets({ gatewayUrl, modelId, secret });
  return (
    <Stack gap="sm">
      <CallSnippets hasStream of={(wire, isStream) => [...of(wire, isStream), ...agents]} />
      <div role="status">
        {first.succeeded === undefined ? (
          <Waiting {...{ first, hasCredit, modelId }} hasSecret={secret !== undefined} />
        ) : (
          <Succeeded requestId={first.succeeded} />
        )}
      </div>
    </Stack>
  );
}

/** Shows the figures of the request, but not its answer, which is only in the reader's terminal. */
function Succeeded({ requestId }: { readonly requestId: string }) {
  const { data } = useAnswer("GET /api/console/requests/:request_id", {
    params: { request_id: requestId },
  });
  return (
    <Group gap="xs">
      <CircleCheck size={18} color="var(--tm-ok)" aria-hidden />
      <Text size="sm">
        Your first request succeeded. {data === undefined ? null : <Measured detail={data} />}{" "}
        <AppLink to="/requests/$requestId" params={{ requestId }}>
          View request
        </AppLink>
      </Text>
    </Group>
  );
}

function Measured({ detail: { request } }: { readonly detail: RequestDetail }) {
  const { model, provider, tokens, duration_ms: durationMs } = request;
  const counts = tokens === null ? undefined : inAndOut(tokens);
  return (
    <>
      {model} of {provider} answered in {formatMs(durationMs)}
      {counts === undefined
        ? ""
        : `: ${formatCount(counts.in)} tokens in, ${formatCount(counts.out)} out`}
      , for <Money usd={request.cost_usd} />.
    </>
  );
}

/** Milliseconds until a hint about 401 appears. This page is not told of calls with a wrong key. */
const SILENT_MS = 20_000;

function Waiting(props: {
  readonly first: First;
  readonly hasCredit: boolean;
  readonly hasSecret: boolean;
  readonly modelId: string;
}) {
  const { refused } = props.first;
  const [isSilent, setSilent] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSilent(true), SILENT_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Stack gap="sm">
      {refused === null ? null : <Refused {...props} refused={refused} />}
      <Group gap="xs">
        <Loader size="xs" type="dots" aria-hidden />
        <Note>
          {refused === null
            ? "Waiting for your first request…"
            : "Waiting for a request that succeeds…"}
        </Note>
      </Group>
      {isSilent && refused === null ? (
        <Text size="sm">
          Nothing yet. Does your terminal show a 401? Then its shell has no {KEY_VARIABLE}:{" "}
          {props.hasSecret
            ? "copy the whole example again, with its first line."
            : "create a key in step 2, and copy the example again."}
        </Text>
      ) : null}
    </Stack>
  );
}

function Refused(props: {
  readonly refused: NonNullable<FirstRequest["refused"]>;
  readonly hasCredit: boolean;
  readonly modelId: string;
}) {
  const { refused, hasCredit, modelId } = props;
  const { request_id: requestId, error_class: reason } = refused;
  const { data } = useAnswer("GET /api/console/requests/:request_id", {
    params: { request_id: requestId },
  });
  const isOfCredit = reason === "insufficient_quota" && !hasCredit;
  return (
    <Alert color="orange">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {isOfCredit
            ? "It arrived and was rejected: there is no credit yet."
            : "It arrived, and this is why there is no answer:"}
        </Text>
        {isOfCredit ? (
          <Button size="xs" onClick={showCredit}>
            Add credit
          </Button>
        ) : (
          <>
            {data === undefined ? null : <EndingReasons detail={data} />}
            {reason === "model_unavailable" ? (
              <Text size="sm">
                <code>{modelId}</code> is a model that answers: it is in the example above.
              </Text>
            ) : null}
            <AppLink to="/requests/$requestId" params={{ requestId }} size="sm">
              View request
            </AppLink>
          </>
        )}
      </Stack>
    </Alert>
  );
}

/** Scrolls to the first step without changing the page's URL. */
function showCredit(): void {
  const step = document.querySelector<HTMLElement>("#credit");
  step?.scrollIntoView({ block: "start" });
  step?.focus({ preventScroll: true });
}

const LISTEN_MS = 2_000;

interface First {
  /** ID of a request that succeeded; undefined until there is one. */
  readonly succeeded: string | undefined;
  /** The latest refused request; null if there is none. */
  readonly refused: FirstRequest["refused"];
}

export function useFirstRequest(): First {
  const [succeeded, setSucceeded] = useState<string>();
  const { data } = useAnswer("GET /api/console/first-request", undefined, {
    enabled: succeeded === undefined,
    refetchMs: LISTEN_MS,
  });
  const found = data?.request_id ?? undefined;
  if (found !== undefined && succeeded === undefined) setSucceeded(found);
  return { succeeded, refused: data?.refused ?? null };
}
