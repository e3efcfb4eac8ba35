import { Group, Loader, Text } from "@mantine/core";
import { memo, type ReactElement } from "react";

import { StatusBadge, type Tone } from "../../../ui/badge.tsx";
import { Copyable, CopyIcon } from "../../../ui/copyable.tsx";
import { formatCount, formatMs } from "../../../ui/count.tsx";
import { Money } from "../../../ui/money.tsx";
import { GatewayTrouble } from "../gateway-trouble.tsx";
import { ModelText } from "../model-text.tsx";
import classes from "../playground.module.css";
import type { ChatAnswer } from "./chat-types.ts";

/** One model's answer, and what it took: who served, tokens, time and cost. */
export const AnswerCard = memo(function AnswerCard(props: {
  readonly answer: ChatAnswer;
  readonly name: string;
}): ReactElement {
  const { answer, name } = props;
  return (
    <div className={classes.answer} role="group" aria-label={`Answer of ${name}`}>
      <Group gap="xs" justify="space-between" wrap="nowrap">
        <Text size="sm" fw={600} truncate>
          {name}
        </Text>
        {answer.text === "" ? null : <CopyIcon value={answer.text} label="answer" />}
      </Group>
      {answer.reasoning === "" ? null : (
        <details className={classes.reasoning}>
          <summary>Reasoning</summary>
          <p className={classes.prose}>{answer.reasoning}</p>
        </details>
      )}
      {answer.state === "waiting" || (answer.state === "streaming" && answer.text === "") ? (
        <Loader type="dots" size="sm" aria-label="Waiting for the answer" />
      ) : null}
      <ModelText text={answer.text} />
      <EndOfAnswer answer={answer} />
      <Figures answer={answer} />
    </div>
  );
});

function EndOfAnswer({ answer }: { readonly answer: ChatAnswer }): ReactElement | null {
  const { state, errorType, message, requestId } = answer;
  if (state === "refused") {
    return (
      <GatewayTrouble
        title="No answer"
        errorType={errorType ?? "unknown"}
        message={message ?? "The gateway rejected this request."}
        requestId={requestId}
      />
    );
  }
  if (state === "ended_early") {
    return (
      <div className={classes.endedEarly} role="alert">
        <StatusBadge tone="bad">Ended early</StatusBadge>
        <Text size="sm" component="div">
          {message ?? "The answer ended early."} <code>{errorType ?? "connection"}</code>
        </Text>
        {requestId === undefined ? null : <Copyable value={requestId} label="request ID" short />}
      </div>
    );
  }
  if (state === "stopped") return <StateLine tone="quiet">Stopped by you</StateLine>;
  return answer.isCutOff === true ? (
    <StateLine tone="warn">Cut off at the maximum answer length</StateLine>
  ) : null;
}

function StateLine(props: { readonly tone: Tone; readonly children: string }): ReactElement {
  return (
    <div>
      <StatusBadge tone={props.tone}>{props.children}</StatusBadge>
    </div>
  );
}

function Figures({ answer }: { readonly answer: ChatAnswer }): ReactElement {
  const { promptTokens, completionTokens, costUsd, provider, firstByteMs, durationMs } = answer;
  return (
    <Text size="xs" c="dimmed" component="div" className={classes.answerFigures}>
      {provider === undefined ? null : <span>served by {provider}</span>}
      {promptTokens === undefined || completionTokens === undefined ? null : (
        <span>
          {formatCount(promptTokens)} tokens in, {formatCount(completionTokens)} out
        </span>
      )}
      {firstByteMs === undefined ? null : <span>first word {formatMs(firstByteMs)}</span>}
      {durationMs === undefined ? null : <span>{formatMs(durationMs)} in all</span>}
      {costUsd === undefined ? (
        isUnsettled(answer) && <span>its cost appears in Usage when the provider has finished</span>
      ) : (
        <span>
          cost <Money usd={costUsd} />
        </span>
      )}
      {answer.requestId === undefined || hasOwnId(answer) ? null : (
        <Copyable value={answer.requestId} label="request ID" short />
      )}
    </Text>
  );
}

/** The provider may go on after a stop, and is paid for what it makes until then. */
function isUnsettled({ state, requestId }: ChatAnswer): boolean {
  return requestId !== undefined && (state === "stopped" || state === "ended_early");
}

/** Where something went wrong, the id is shown beside the message. */
function hasOwnId({ state }: ChatAnswer): boolean {
  return state === "ended_early" || state === "refused";
}
