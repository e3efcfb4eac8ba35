import { Alert, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { CircleCheck } from "lucide-react";
import type { ReactElement } from "react";

import type { FirstRequest } from "../../../../src/account/console-api/contract.ts";
import { useSession } from "../../api/use-session.ts";
import { agentSnippets } from "../../snippets/agent-snippets.ts";
import { CallSnippets } from "../../snippets/call-snippets.tsx";
import { helloSnippets } from "../../snippets/chat-snippets.ts";
import { useSampleModel } from "../../snippets/use-sample-model.ts";
import { AppLink } from "../../ui/app-link.tsx";
import { refusalText } from "./refusal-text.ts";
import type { First } from "./use-first-request.ts";

/** A call that runs as it is copied, and what became of it. */
export function CallStep(props: {
  readonly secret: string | undefined;
  readonly first: First;
  readonly hasCredit: boolean;
}): ReactElement {
  const { secret, first, hasCredit } = props;
  const { installation } = useSession();
  const of = { gatewayUrl: installation.gateway_url, modelId: useSampleModel(), secret };
  return (
    <Stack gap="sm">
      <CallSnippets of={(wire) => [...helloSnippets(wire, of), ...agentSnippets(of)]} />
      <div role="status">
        <Outcome first={first} hasCredit={hasCredit} />
      </div>
    </Stack>
  );
}

function Outcome(props: { readonly first: First; readonly hasCredit: boolean }): ReactElement {
  const { first, hasCredit } = props;
  if (first.succeeded !== undefined) {
    return (
      <Group gap="xs">
        <CircleCheck size={18} color="var(--tm-ok)" aria-hidden />
        <Text size="sm">
          Your first request succeeded.{" "}
          <AppLink to="/requests/$requestId" params={{ requestId: first.succeeded }} inherit>
            View request
          </AppLink>
        </Text>
      </Group>
    );
  }
  return (
    <Stack gap="sm">
      {first.refused === null ? null : <Refused refused={first.refused} hasCredit={hasCredit} />}
      <Group gap="xs">
        <Loader size="xs" type="dots" aria-hidden />
        <Text size="sm" c="dimmed">
          {first.refused === null
            ? "Waiting for your first request…"
            : "Waiting for a request that succeeds…"}
        </Text>
      </Group>
    </Stack>
  );
}

function Refused(props: {
  readonly refused: NonNullable<FirstRequest["refused"]>;
  readonly hasCredit: boolean;
}): ReactElement {
  const { refused, hasCredit } = props;
  const { words, repair } = refusalText(refused, hasCredit);
  return (
    <Alert color="orange" variant="light">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{words}</Text>
        {repair === "credit" ? (
          <Button size="xs" onClick={showCredit}>
            Add credit
          </Button>
        ) : (
          <AppLink to="/requests/$requestId" params={{ requestId: refused.request_id }} size="sm">
            View request
          </AppLink>
        )}
      </Stack>
    </Alert>
  );
}

/** The first step, on this page: no address changes, so that nothing asks about the key. */
function showCredit(): void {
  const step = document.querySelector<HTMLElement>("#credit");
  step?.scrollIntoView({ block: "start" });
  step?.focus({ preventScroll: true });
}
