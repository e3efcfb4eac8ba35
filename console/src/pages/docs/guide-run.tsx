import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { Play, Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { useSession } from "../../api/use-answer.ts";
import { signInAddress } from "../../app/sign-in.ts";
import { CodeBlock } from "../../ui/code-block.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { Money } from "../../ui/money.tsx";
import { showUsd } from "../../ui/money-math.ts";
import { Note, RoleNote } from "../../ui/page.tsx";
import { FaultTrouble } from "../playground/gateway-trouble.tsx";
import { useFreshBalance } from "../playground/tab-props.ts";
import type { GuideCall } from "./guide-call.ts";
import {
  quoteGuideCall,
  runGuideCall,
  type GuideAnswer,
  type GuideQuote,
} from "./run-guide-call.ts";
import { SmallButton } from "../../ui/buttons.tsx";

type State =
  | { readonly kind: "ready" }
  | { readonly kind: "asking" }
  | { readonly kind: "quoted"; readonly quote: GuideQuote }
  | { readonly kind: "running"; readonly shown: string }
  | { readonly kind: "done"; readonly answer: GuideAnswer }
  | { readonly kind: "failed"; readonly fault: unknown };

/** Runs a guide's request. The session authorizes it instead of a key. */
export function GuideRun({ call }: { readonly call: GuideCall }) {
  const { state: session, may } = useSession();
  if (session !== "signed_in") {
    return (
      <Text size="sm">
        <Anchor inherit href={signInAddress({})}>
          Sign in to run
        </Anchor>
      </Text>
    );
  }
  if (!may.includes("keys")) return <RoleNote need="keys" what="run calls" />;
  return <Runner key={JSON.stringify(call)} call={call} />;
}

function Runner({ call }: { readonly call: GuideCall }) {
  const [state, setState] = useState<State>({ kind: "ready" });
  const abort = useRef<AbortController>(undefined);
  const freshBalance = useFreshBalance();
  useEffect(() => () => abort.current?.abort(), []);

  async function ask(): Promise<void> {
    if (call.quotedAs === undefined) return await run();
    setState({ kind: "asking" });
    try {
      setState({ kind: "quoted", quote: await quoteGuideCall(call) });
    } catch (fault) {
      setState({ kind: "failed", fault });
    }
  }

  async function run(): Promise<void> {
    const { signal } = (abort.current = new AbortController());
    setState({ kind: "running", shown: "" });
    try {
      const onText = (shown: string): void => setState({ kind: "running", shown });
      const answer = await runGuideCall(call, { signal, onText });
      if (!signal.aborted) setState({ kind: "done", answer });
    } catch (fault) {
      setState(signal.aborted ? { kind: "ready" } : { kind: "failed", fault });
    } finally {
      freshBalance();
    }
  }

  return (
    <Stack gap="xs">
      <Group gap="sm">
        <Buttons
          state={state}
          onAsk={() => void ask()}
          onRun={() => void run()}
          onStop={() => abort.current?.abort()}
          onCancel={() => setState({ kind: "ready" })}
        />
      </Group>
      <Outcome state={state} isFree={call.quotedAs === undefined} />
    </Stack>
  );
}

function Buttons(props: {
  readonly state: State;
  readonly onAsk: () => void;
  readonly onRun: () => void;
  readonly onStop: () => void;
  readonly onCancel: () => void;
}) {
  const { state } = props;
  if (state.kind === "running") {
    return (
      <SmallButton leftSection={<Square size={14} aria-hidden />} onClick={props.onStop}>
        Stop
      </SmallButton>
    );
  }
  if (state.kind === "quoted") {
    const { mostUsd, refusal } = state.quote;
    return (
      <>
        <Text size="sm" role="status">
          {refusal === undefined
            ? `This request costs at most ${showUsd(mostUsd ?? "0.000000")}, from your organization's balance.`
            : `This request would be rejected: ${refusal}`}
        </Text>
        <Button size="xs" onClick={props.onRun}>
          {refusal === undefined ? "Run now" : "Run anyway"}
        </Button>
        <SmallButton onClick={props.onCancel}>Cancel</SmallButton>
      </>
    );
  }
  return (
    <SmallButton
      leftSection={<Play size={14} aria-hidden />}
      loading={state.kind === "asking"}
      onClick={props.onAsk}
    >
      {state.kind === "ready" ? "Run" : "Run again"}
    </SmallButton>
  );
}

function Outcome(props: { readonly state: State; readonly isFree: boolean }) {
  const { state } = props;
  if (state.kind === "failed") return <FaultTrouble fault={state.fault} />;
  if (state.kind === "running") {
    return state.shown === "" ? (
      <Note role="status">Running…</Note>
    ) : (
      <CodeBlock code={state.shown} label="Answer so far" />
    );
  }
  if (state.kind !== "done") return null;
  const { shown, costUsd, requestId } = state.answer;
  return (
    <>
      <CodeBlock code={shown} label="Answer" />
      <Text size="sm" c="dimmed" component="div" role="status">
        {props.isFree ? "Free" : null}
        {costUsd === undefined ? null : (
          <>
            Cost <Money usd={costUsd} />
          </>
        )}
        {!props.isFree && costUsd === undefined
          ? "The cost is not settled yet. Find it on the Usage page."
          : null}
        {requestId === undefined ? null : (
          <>
            {" "}
            · <Copyable value={requestId} label="request ID" short />
          </>
        )}
      </Text>
    </>
  );
}
