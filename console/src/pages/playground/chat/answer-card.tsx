import { Group, Loader, Text, Button, Textarea } from "@mantine/core";
import { Pencil, RefreshCw } from "lucide-react";
import { lazy, memo, Suspense, useState, type ComponentProps } from "react";

import { StatusBadge } from "../../../ui/badge.tsx";
import { CodeBlock } from "../../../ui/code-block.tsx";
import { Copyable, CopyIcon } from "../../../ui/copyable.tsx";
import { formatCount, formatMs } from "../../../ui/format.ts";
import { sentence } from "../../../ui/sentence.ts";
import { Tip } from "../../../ui/tip.tsx";
import { CallFigures, IconButton } from "../call-figures.tsx";
import { GatewayTrouble } from "../gateway-trouble.tsx";
import shared from "../playground.module.css";
import { tokensPerSecond } from "./conversation.ts";
import type { ChatAnswer, ToolResult, ToolCall } from "./chat-types.ts";
import classes from "./chat.module.css";
import { controlled, submitting } from "../../../ui/fields.ts";
import { SmallButton } from "../../../ui/buttons.tsx";
import { parseJson } from "../gateway.ts";

export interface AnswerActions {
  readonly onRegenerate: (modelId: string) => void;
  readonly onEdit: (modelId: string, text: string) => void;
  /** Undefined if the answer's tool calls have results already. */
  readonly onResults: ((modelId: string, results: readonly ToolResult[]) => void) | undefined;
}

export const AnswerCard = memo(function AnswerCard(props: {
  readonly answer: ChatAnswer;
  readonly name: string;
  readonly isBusy: boolean;
  readonly mayAsk: boolean;
  readonly actions: AnswerActions;
}) {
  const { answer, name, isBusy, mayAsk, actions } = props;
  const { modelId, toolCalls = [] } = answer;
  const { onResults } = actions;
  const [isEdited, setEdited] = useState(false);
  return (
    <div className={shared.answer} role="group" aria-label={`Answer of ${name}`}>
      <Group gap="xs" justify="space-between" wrap="nowrap">
        <Text size="sm" fw={600} truncate>
          {name}
        </Text>
        <div className={classes.actions}>
          {answer.text === "" ? null : <CopyIcon value={answer.text} label="answer" />}
          {isBusy || answer.text === "" ? null : (
            <IconAction label="Edit answer" icon={Pencil} onClick={() => setEdited(true)} />
          )}
          {isBusy || !mayAsk ? null : (
            <IconAction
              label="Regenerate"
              icon={RefreshCw}
              onClick={() => actions.onRegenerate(modelId)}
            />
          )}
        </div>
      </Group>
      {answer.reasoning === "" ? null : (
        <details className={classes.reasoning}>
          <summary>Reasoning</summary>
          <p className={shared.prose}>{answer.reasoning}</p>
        </details>
      )}
      {answer.state === "waiting" || (answer.state === "streaming" && answer.text === "") ? (
        <Loader type="dots" size="sm" aria-label="Waiting for the answer" />
      ) : null}
      {isEdited ? (
        <EditForm
          label="Edited answer"
          text={answer.text}
          doing="Save answer"
          isBusy={isBusy}
          onText={(text) => actions.onEdit(modelId, text)}
          onClose={() => setEdited(false)}
        />
      ) : (
        <ModelText text={answer.text} />
      )}
      {toolCalls.length === 0 ? null : (
        <ToolCalls
          calls={toolCalls}
          onResults={
            onResults === undefined || isBusy || !mayAsk || answer.state !== "done"
              ? undefined
              : (results) => onResults(modelId, results)
          }
        />
      )}
      <EndOfAnswer answer={answer} />
      <Figures answer={answer} />
    </div>
  );
});

export function IconAction(props: ComponentProps<typeof IconButton>) {
  return (
    <Tip label={props.label}>
      <IconButton size="sm" {...props} />
    </Tip>
  );
}

function EndOfAnswer({ answer }: { readonly answer: ChatAnswer }) {
  const { state, errorType, message, requestId } = answer;
  if (state === "refused") {
    return (
      <GatewayTrouble
        title="No answer"
        errorType={errorType}
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
          {sentence(message ?? "The answer ended early.")}{" "}
          {errorType === undefined ? null : <code>{errorType}</code>}
        </Text>
        {requestId === undefined ? null : <Copyable value={requestId} label="request ID" short />}
      </div>
    );
  }
  const isStopped = state === "stopped";
  if (!isStopped && answer.isCutOff !== true) return null;
  return (
    <div>
      <StatusBadge tone={isStopped ? "quiet" : "warn"}>
        {isStopped ? "Stopped by you" : "Cut off at the output limit"}
      </StatusBadge>
    </div>
  );
}

function Figures({ answer }: { readonly answer: ChatAnswer }) {
  const { state, promptTokens, completionTokens, costUsd, firstByteMs, durationMs } = answer;
  const speed = tokensPerSecond(answer);
  return (
    <CallFigures call={answer} hasOwnId={state === "ended_early" || state === "refused"}>
      {promptTokens === undefined || completionTokens === undefined ? null : (
        <span>
          {formatCount(promptTokens)} tokens in, {formatCount(completionTokens)} out
        </span>
      )}
      {firstByteMs === undefined ? null : <span>first token {formatMs(firstByteMs)}</span>}
      {speed === undefined ? null : <span>{formatCount(speed)} tokens/s</span>}
      {durationMs === undefined ? null : <span>{formatMs(durationMs)} in all</span>}
      {answer.isEdited === true ? <span>edited by you</span> : null}
      {costUsd === undefined && isUnsettled(answer) ? (
        <span>its cost appears in Usage when the provider has finished</span>
      ) : null}
    </CallFigures>
  );
}

/** True if the gateway may still read the answer from the provider before it settles. */
function isUnsettled({ state, requestId }: ChatAnswer): boolean {
  return requestId !== undefined && (state === "stopped" || state === "ended_early");
}

/** Loaded with the first answer: the Markdown parser is larger than the rest of the playground. */
const MarkdownText = lazy(() => import("../markdown-text.tsx"));

/** Longer answers are shown as plain text, so that the page stays fast. */
const MARKDOWN_CHARS_MAX = 200_000;

/** Shows JSON as code, and other text as Markdown. HTML stays text, and images become links. */
const ModelText = memo(function ModelText({ text }: { readonly text: string }) {
  if (text === "") return null;
  const written = <p className={shared.prose}>{text}</p>;
  if (text.length > MARKDOWN_CHARS_MAX) return written;
  const json = findJson(text);
  if (json !== undefined) return <CodeBlock code={json} label="JSON answer" />;
  return (
    <Suspense fallback={written}>
      <MarkdownText text={text} />
    </Suspense>
  );
});

/** Returns the answer if all of it is one JSON object or list. */
function findJson(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^[{[][^]*[}\]]$/.test(trimmed)) return undefined;
  return parseJson(trimmed) === undefined ? undefined : trimmed;
}

function ToolCalls(props: {
  readonly calls: readonly ToolCall[];
  /** Undefined if the calls have results already, or cannot get any now. */
  readonly onResults: ((results: readonly ToolResult[]) => void) | undefined;
}) {
  const { calls, onResults } = props;
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  return (
    <form
      className={classes.calls}
      aria-label="Tool calls"
      {...submitting(() =>
        onResults?.(calls.map(({ id }) => ({ callId: id, content: typed[id] ?? "" }))),
      )}
    >
      {calls.map(({ id, name, arguments: sent }) => (
        <div key={id}>
          <Text size="sm" fw={600}>
            Calls <code>{name}</code>
          </Text>
          <CodeBlock code={sent === "" ? "{}" : sent} label={`Arguments of ${name}`} />
          {onResults === undefined ? null : (
            <Textarea
              mt={6}
              label={`Result of ${name}`}
              placeholder="What the tool answers, as text or JSON"
              {...controlled(typed[id] ?? "", (text) => setTyped({ ...typed, [id]: text }))}
              minRows={1}
              maxRows={8}
            />
          )}
        </div>
      ))}
      {onResults === undefined ? null : (
        <Group justify="flex-end">
          <Button size="xs" type="submit">
            Send results
          </Button>
        </Group>
      )}
    </form>
  );
}

export function EditForm(props: {
  readonly label: string;
  readonly text: string;
  readonly doing: string;
  readonly isBusy: boolean;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState(props.text);
  return (
    <form
      className={shared.grow}
      {...submitting(() => {
        props.onClose();
        props.onText(text);
      })}
    >
      <Textarea aria-label={props.label} {...controlled(text, setText)} maxRows={16} autoFocus />
      <Group gap="xs" mt="xs" justify="flex-end">
        <SmallButton onClick={props.onClose}>Cancel</SmallButton>
        <Button size="xs" type="submit" disabled={text.trim() === "" || props.isBusy}>
          {props.doing}
        </Button>
      </Group>
    </form>
  );
}
