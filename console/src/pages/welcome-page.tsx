import { Button, Group, Loader, Stack, Text } from "@mantine/core";
import { CircleCheck } from "lucide-react";
import { useEffect, useRef, useState, type ReactElement } from "react";
import { useQueryClient } from "@tanstack/react-query";

import type { Reveal } from "../../../src/console-api/contract.ts";
import { ApiFault, call } from "../api/client.ts";
import { refreshAnswers, useAnswer } from "../api/use-answer.ts";
import { useSession } from "../api/use-session.ts";
import { AppLink, LinkButton } from "../ui/app-link.tsx";
import { CallSnippets } from "../snippets/call-snippets.tsx";
import { helloSnippets } from "../snippets/chat-snippets.ts";
import { useSampleModel } from "../snippets/use-sample-model.ts";
import { Fault } from "../ui/fault.tsx";
import { Loading } from "../ui/loading.tsx";
import { Money } from "../ui/money.tsx";
import { parseUsd } from "../ui/money-math.ts";
import { Page } from "../ui/page.tsx";
import { SecretField } from "../ui/secret-field.tsx";
import { Step } from "./welcome/step.tsx";

/** How often the page polls for the first request. */
const LISTEN_MS = 2_000;

/** After the first sign-in: the trial key, a call to try, and credit. */
export function WelcomePage(): ReactElement {
  const session = useSession();
  const trial = useReveal(session.has_reveal);
  const first = useFirstRequest();
  const hasCredit = session.is_funded;
  return (
    <Page
      title="Welcome"
      lead={`Three steps to the first request of ${session.org?.name ?? "your organization"}.`}
    >
      <Step number={1} title="Save your trial key" isDone={trial.state === "saved"}>
        <TrialKey trial={trial} />
      </Step>
      <Step number={2} title="Make your first request" isDone={first !== undefined}>
        <FirstCall secret={trial.state === "shown" ? trial.reveal.key : undefined} first={first} />
      </Step>
      <Step number={3} title="Add credit" isDone={hasCredit}>
        <AddCredit />
      </Step>
      <div>
        <LinkButton to="/" variant="default">
          Go to overview
        </LinkButton>
      </div>
    </Page>
  );
}

type Trial =
  | { readonly state: "asking" }
  | { readonly state: "none" }
  | { readonly state: "saved" }
  | { readonly state: "shown"; readonly reveal: Reveal; readonly onSaved: () => void }
  | { readonly state: "failed"; readonly error: unknown; readonly retry: () => void };

/**
 * Asks for the key once, on arrival. It is held by this component and nothing else: no cache, no
 * storage, no address.
 */
function useReveal(hasReveal: boolean): Trial {
  const [trial, setTrial] = useState<Trial>({ state: hasReveal ? "asking" : "none" });
  const wasAsked = useRef(false);
  const client = useQueryClient();
  useEffect(() => {
    async function ask(): Promise<void> {
      try {
        const reveal = await call("POST /api/console/reveal");
        setTrial({ state: "shown", reveal, onSaved: () => setTrial({ state: "saved" }) });
        void refreshAnswers(client, ["GET /api/console/keys"]);
      } catch (error) {
        const isGone = error instanceof ApiFault && error.status === 410;
        setTrial(isGone ? { state: "none" } : { state: "failed", error, retry: () => void ask() });
      }
    }
    if (!hasReveal || wasAsked.current) return;
    wasAsked.current = true;
    void ask();
  }, [hasReveal, client]);
  return trial;
}

function TrialKey({ trial }: { readonly trial: Trial }): ReactElement {
  if (trial.state === "asking") return <Loading rows={2} />;
  if (trial.state === "failed") return <Fault error={trial.error} retry={trial.retry} />;
  if (trial.state === "saved") {
    return (
      <Text size="sm">
        This key is not shown again. If you lose it, disable it and create a new one on the{" "}
        <AppLink to="/keys" inherit>
          keys page
        </AppLink>
        .
      </Text>
    );
  }
  if (trial.state === "none") {
    return (
      <Text size="sm">
        No key to show. A trial key is shown only once, when it is created. Create a new one on the{" "}
        <AppLink to="/keys" inherit>
          keys page
        </AppLink>
        .
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      <Text size="sm">
        This is the only time this key is shown. Only a hash is stored, so not even support can
        recover it. It allows 20 requests per minute.
      </Text>
      <SecretField secret={trial.reveal.key} />
      <div>
        <Button onClick={trial.onSaved}>I saved it</Button>
      </div>
    </Stack>
  );
}

/** The id of the organization's first request; undefined while there is none. */
function useFirstRequest(): string | undefined {
  const [first, setFirst] = useState<string>();
  const answer = useAnswer("GET /api/console/first-request", undefined, {
    enabled: first === undefined,
    refetchMs: LISTEN_MS,
  });
  const found = answer.data?.request_id ?? undefined;
  if (found !== undefined && first === undefined) setFirst(found);
  return first;
}

function FirstCall(props: {
  readonly secret: string | undefined;
  readonly first: string | undefined;
}): ReactElement {
  const { installation, balance } = useSession();
  const modelId = useSampleModel();
  const isEmpty = balance !== null && parseUsd(balance.available_usd) <= 0n;
  return (
    <Stack gap="sm">
      {isEmpty ? (
        <Text size="sm">
          Your balance is <Money usd={balance.available_usd} headline />. Until you add credit (step
          3), requests are rejected with 429 <code>insufficient_quota</code>.
        </Text>
      ) : null}
      <CallSnippets
        of={(wire) =>
          helloSnippets(wire, {
            gatewayUrl: installation.gateway_url,
            modelId,
            secret: props.secret,
          })
        }
      />
      <div role="status">
        {props.first === undefined ? (
          <Group gap="xs">
            <Loader size="xs" type="dots" aria-hidden />
            <Text size="sm" c="dimmed">
              Waiting for your first request…
            </Text>
          </Group>
        ) : (
          <Group gap="xs">
            <CircleCheck size={18} color="var(--tm-ok)" aria-hidden />
            <Text size="sm">
              Your first request arrived.{" "}
              <AppLink to="/requests/$requestId" params={{ requestId: props.first }} inherit>
                View request
              </AppLink>
            </Text>
          </Group>
        )}
      </div>
    </Stack>
  );
}

function AddCredit(): ReactElement {
  const { balance, is_funded, unfunded_rpm } = useSession();
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">
        {balance === null ? null : (
          <>
            Your balance is <Money usd={balance.available_usd} headline />.{" "}
          </>
        )}
        {is_funded
          ? "All keys of your organization share it."
          : `All keys share it. Until you add credit, they are limited to ${unfunded_rpm} requests per minute combined.`}
      </Text>
      <LinkButton to="/billing" {...(is_funded ? { variant: "default" } : {})}>
        {is_funded ? "Open billing" : "Add credit"}
      </LinkButton>
    </Stack>
  );
}
