import { Stack, Text } from "@mantine/core";
import { useEffect, useMemo, useRef, type ReactElement } from "react";

import type { Model } from "../../../../../src/account/console-api/contract.ts";
import { useMay } from "../../../api/use-may.ts";
import shared from "../playground.module.css";
import classes from "./chat.module.css";
import type { ChatAnswer, Turn } from "./chat-types.ts";
import { TurnView } from "./turn-view.tsx";
import type { Chat } from "./use-chat.ts";

/** Distance from the end, in pixels, within which the thread scrolls along with new text. */
const NEAR_PX = 80;

export interface ThreadProps {
  readonly chat: Chat;
  readonly models: readonly Model[];
  readonly onExample: (prompt: string) => void;
}

/** Shows the conversation, oldest message first. With several models, each has a column. */
export function Thread(props: ThreadProps): ReactElement {
  const { conversation, isBusy } = props.chat;
  const { turns, settings } = conversation;
  return (
    <>
      {settings.modelIds.length > 1 ? <Columns {...props} /> : <Messages {...props} />}
      <span role="status" className={shared.hidden}>
        {isBusy ? "" : announceEnds(turns)}
      </span>
    </>
  );
}

function Columns(props: ThreadProps): ReactElement {
  const { settings } = props.chat.conversation;
  const names = useNames(props.models);
  return (
    <div className={classes.columns}>
      {settings.modelIds.map((modelId) => {
        const name = names.get(modelId) ?? modelId;
        return (
          <section key={modelId} className={classes.column} aria-label={name}>
            <Text size="sm" fw={600} truncate className={classes.columnHead}>
              {name}
            </Text>
            <Messages {...props} modelId={modelId} />
          </section>
        );
      })}
    </div>
  );
}

function Messages(props: ThreadProps & { readonly modelId?: string }): ReactElement {
  const { chat, models, modelId } = props;
  const { turns } = chat.conversation;
  const scroll = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const names = useNames(models);
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
      {turns.length === 0 ? <Start onExample={props.onExample} /> : null}
      {turns.map((turn, at) => (
        <TurnView
          key={turn.id}
          turn={turn}
          next={turns[at + 1]}
          modelId={modelId}
          names={names}
          isBusy={chat.isBusy}
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

function Start({ onExample }: Pick<ThreadProps, "onExample">): ReactElement {
  const mayCall = useMay("keys");
  return (
    <Stack gap="xs" align="center" className={classes.threadEmpty}>
      <Text c="dimmed" ta="center" size="sm">
        Send a message, or begin with one of these. Add models to compare their answers.
      </Text>
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

function useNames(models: readonly Model[]): ReadonlyMap<string, string> {
  return useMemo(() => new Map(models.map(({ id, name }) => [id, name])), [models]);
}

type Actions = Pick<Chat, "sayAgain" | "regenerate" | "editAnswer" | "giveResults">;

/**
 * Returns functions that stay the same objects while an answer streams in. Without this, every
 * chunk would redraw all turns.
 */
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

/** The text that a screen reader announces when all answers have ended. */
function announceEnds(turns: readonly Turn[]): string {
  const answers = turns.at(-1)?.answers ?? [];
  return answers.map(describeEnd).join(" ");
}

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
