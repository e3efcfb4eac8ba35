import { Stack, Text } from "@mantine/core";
import { useEffect, useMemo, useRef, memo, useState } from "react";
import { Pencil } from "lucide-react";

import type { Model } from "../../../api/contract.ts";
import { useMay } from "../../../api/use-answer.ts";
import kit from "../../../ui/kit.module.css";
import shared from "../playground.module.css";
import classes from "./chat.module.css";
import type { ChatAnswer, Turn } from "./chat-types.ts";
import type { Chat } from "./use-chat.ts";
import { AnswerCard, type AnswerActions, EditForm, IconAction } from "./answer-card.tsx";
import { FilePreview } from "./composer.tsx";
import { Note } from "../../../ui/page.tsx";

/** Distance from the end, in pixels, within which the thread scrolls along with new text. */
const NEAR_PX = 80;

interface ThreadProps {
  readonly chat: Chat;
  readonly models: readonly Model[];
  /** If false, no message can be sent, and no answer made anew. */
  readonly mayAsk: boolean;
  readonly onExample: (prompt: string) => void;
}

/** With several models, each has a column. */
export function Thread(props: ThreadProps) {
  const { models } = props;
  const { conversation, isBusy } = props.chat;
  const { turns, settings } = conversation;
  const names = useMemo(() => new Map(models.map(({ id, name }) => [id, name])), [models]);
  return (
    <>
      {settings.modelIds.length > 1 ? (
        <div className={classes.columns}>
          {settings.modelIds.map((modelId) => {
            const name = names.get(modelId) ?? modelId;
            return (
              <section key={modelId} className={classes.column} aria-label={name}>
                <Text size="sm" fw={600} truncate className={classes.columnHead}>
                  {name}
                </Text>
                <Messages {...props} names={names} modelId={modelId} />
              </section>
            );
          })}
        </div>
      ) : (
        <Messages {...props} names={names} />
      )}
      <span role="status" className={kit.hidden}>
        {isBusy ? "" : turns.at(-1)?.answers.map(describeEnd).join(" ")}
      </span>
    </>
  );
}

interface MessagesProps extends Omit<ThreadProps, "models"> {
  readonly names: ReadonlyMap<string, string>;
  /** The model whose answers are shown. Undefined shows the answers of all models. */
  readonly modelId?: string;
}

function Messages({ chat, names, modelId, mayAsk, onExample }: MessagesProps) {
  const { turns } = chat.conversation;
  const scroll = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const actions = useActions(chat);
  useEffect(() => {
    const box = scroll.current;
    if (box !== null && isFollowing.current) box.scrollTop = box.scrollHeight;
  }, [turns]);
  return (
    <div
      ref={scroll}
      className={classes.thread}
      tabIndex={0}
      role="log"
      aria-label={modelId === undefined ? "Messages" : `Messages, ${names.get(modelId) ?? modelId}`}
      aria-live="off"
      onScroll={({ currentTarget: box }) => {
        isFollowing.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
      }}
    >
      {turns.length === 0 ? <Start onExample={onExample} /> : null}
      {turns.map((turn, at) => (
        <TurnView
          key={turn.id}
          turn={turn}
          next={turns[at + 1]}
          modelId={modelId}
          names={names}
          isBusy={chat.isBusy}
          mayAsk={mayAsk}
          chat={actions}
        />
      ))}
    </div>
  );
}

const EXAMPLES = [
  "Explain a hash table to a new programmer in five sentences.",
  "Write a polite answer to a customer whose parcel is a week late.",
  "Return three test cases for a date parser as JSON.",
];

function Start({ onExample }: Pick<ThreadProps, "onExample">) {
  const mayCall = useMay("keys");
  return (
    <Stack gap="xs" align="center" className={classes.threadEmpty}>
      <Note ta="center">
        Send a message, or begin with one of these. Add models to compare their answers.
      </Note>
      {EXAMPLES.map((prompt) => (
        <button
          key={prompt}
          type="button"
          className={classes.example}
          disabled={!mayCall}
          onClick={() => onExample(prompt)}
        >
          {prompt}
        </button>
      ))}
    </Stack>
  );
}

type Actions = Pick<Chat, "sayAgain" | "regenerate" | "editAnswer" | "giveResults">;

/** The functions stay the same, so that a chunk of an answer does not redraw all turns. */
function useActions(chat: Chat): Actions {
  const now = useRef(chat);
  now.current = chat;
  return useMemo(
    () => ({
      sayAgain: (...of) => now.current.sayAgain(...of),
      regenerate: (...of) => now.current.regenerate(...of),
      editAnswer: (...of) => now.current.editAnswer(...of),
      giveResults: (...of) => now.current.giveResults(...of),
    }),
    [],
  );
}

/** The sentence that a screen reader announces when an answer has ended. */
function describeEnd({ state, toolCalls = [] }: ChatAnswer): string {
  if (state === "done" && toolCalls.length > 0) return "The model is waiting for tool results.";
  return ENDS[state] ?? "";
}

const ENDS: Readonly<Partial<Record<ChatAnswer["state"], string>>> = {
  done: "The answer is complete.",
  stopped: "You stopped the answer.",
  ended_early: "The answer ended early.",
  refused: "No answer.",
};

const TurnView = memo(function TurnView(props: {
  readonly turn: Turn;
  /** May contain the results of this turn's tool calls. */
  readonly next: Turn | undefined;
  readonly modelId: string | undefined;
  readonly names: ReadonlyMap<string, string>;
  readonly isBusy: boolean;
  readonly mayAsk: boolean;
  readonly chat: Actions;
}) {
  const { turn, next, modelId, names, isBusy, mayAsk, chat } = props;
  const answers = turn.answers.filter((each) => modelId === undefined || each.modelId === modelId);
  const actions = useMemo((): AnswerActions => {
    const { id } = turn;
    return {
      onRegenerate: (of) => chat.regenerate(id, of),
      onEdit: (of, text) => chat.editAnswer(id, of, text),
      onResults: (of, results) => chat.giveResults(id, of, results),
    };
  }, [turn, chat]);
  if (turn.toolResults !== undefined && answers.length === 0) return null;
  return (
    <article className={classes.turn} aria-label="A message and its answers">
      {turn.toolResults === undefined ? (
        <Said turn={turn} isBusy={isBusy || !mayAsk} onSayAgain={chat.sayAgain} />
      ) : (
        <Results turn={turn} modelId={modelId} />
      )}
      {answers.length === 0 ? <Note size="xs">Not sent to this model.</Note> : null}
      <div className={classes.answers}>
        {answers.map((answer) => (
          <AnswerCard
            key={answer.modelId}
            answer={answer}
            name={names.get(answer.modelId) ?? answer.modelId}
            isBusy={isBusy}
            mayAsk={mayAsk && names.has(answer.modelId)}
            actions={
              next?.toolResults?.[answer.modelId] === undefined
                ? actions
                : { ...actions, onResults: undefined }
            }
          />
        ))}
      </div>
    </article>
  );
});

function Results(props: { readonly turn: Turn; readonly modelId: string | undefined }) {
  const { turn, modelId } = props;
  const results = Object.entries(turn.toolResults ?? {})
    .filter(([id]) => modelId === undefined || id === modelId)
    .flatMap(([, each]) => each);
  return (
    <div className={classes.said}>
      {results.map(({ callId, content }) => (
        <p key={callId} className={shared.prose}>
          Tool result: {content === "" ? "(empty)" : content}
        </p>
      ))}
    </div>
  );
}

function Said(props: {
  readonly turn: Turn;
  readonly isBusy: boolean;
  readonly onSayAgain: (turnId: string, text: string) => void;
}) {
  const { turn, isBusy } = props;
  const [isEdited, setEdited] = useState(false);
  if (isEdited) {
    return (
      <div className={classes.said}>
        <EditForm
          label="Edited message"
          text={turn.text}
          doing="Send again"
          isBusy={isBusy}
          onText={(text) => props.onSayAgain(turn.id, text)}
          onClose={() => setEdited(false)}
        />
      </div>
    );
  }
  return (
    <div className={classes.said}>
      {turn.attachments.map((each, at) => (
        <FilePreview key={at} attachment={each} />
      ))}
      <p className={shared.prose}>{turn.text}</p>
      <IconAction
        label="Edit and send again"
        icon={Pencil}
        disabled={isBusy}
        onClick={() => setEdited(true)}
      />
    </div>
  );
}
