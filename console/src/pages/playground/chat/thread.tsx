import { ActionIcon, Button, Group, Text, Textarea, Tooltip } from "@mantine/core";
import { Pencil } from "lucide-react";
import { memo, useEffect, useRef, useState, type ReactElement } from "react";

import type { Model } from "../../../../../src/console-api/contract.ts";
import classes from "../playground.module.css";
import { AnswerCard } from "./answer-card.tsx";
import type { ChatAnswer, Turn } from "./chat-types.ts";
import { FilePreview } from "./composer.tsx";
import type { Chat } from "./use-chat.ts";

/** How near to the end a reader counts as following it. */
const NEAR_PX = 80;

/** What was said, oldest first; it scrolls with the newest text while the reader is at the end. */
export function Thread(props: {
  readonly chat: Chat;
  readonly models: readonly Model[];
}): ReactElement {
  const { chat, models } = props;
  const { turns } = chat.conversation;
  const scroll = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  useEffect(() => {
    const box = scroll.current;
    if (box !== null && isFollowing.current) box.scrollTop = box.scrollHeight;
  }, [turns]);
  const names = new Map(models.map(({ id, name }) => [id, name]));
  return (
    <div
      ref={scroll}
      className={classes.thread}
      tabIndex={0}
      role="log"
      aria-label="Messages"
      aria-live="off"
      onScroll={({ currentTarget: box }) => {
        isFollowing.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
      }}
    >
      {turns.length === 0 ? (
        <Text c="dimmed" ta="center" className={classes.threadEmpty}>
          Send a message to start. Add models to compare their answers to one prompt.
        </Text>
      ) : null}
      {turns.map((turn) => (
        <TurnView
          key={turn.id}
          turn={turn}
          names={names}
          isBusy={chat.isBusy}
          onSayAgain={chat.sayAgain}
        />
      ))}
      <span role="status" className={classes.hidden}>
        {chat.isBusy
          ? ""
          : turns
              .at(-1)
              ?.answers.map(({ state }) => ENDS[state] ?? "")
              .join(" ")}
      </span>
    </div>
  );
}

const TurnView = memo(function TurnView(props: {
  readonly turn: Turn;
  readonly names: ReadonlyMap<string, string>;
  readonly isBusy: boolean;
  readonly onSayAgain: (turnId: string, text: string) => void;
}): ReactElement {
  const { turn, names, isBusy } = props;
  const [edited, setEdited] = useState<string>();
  return (
    <article className={classes.turn} aria-label="A message and its answers">
      <div className={classes.said}>
        {edited === undefined ? (
          <>
            {turn.attachments.map((each, at) => (
              <FilePreview key={at} attachment={each} />
            ))}
            <p className={classes.prose}>{turn.text}</p>
            <Tooltip label="Edit and send again">
              <ActionIcon
                variant="subtle"
                color="gray"
                size="sm"
                aria-label="Edit and send again"
                disabled={isBusy}
                onClick={() => setEdited(turn.text)}
              >
                <Pencil size={14} aria-hidden />
              </ActionIcon>
            </Tooltip>
          </>
        ) : (
          <form
            className={classes.grow}
            onSubmit={(event) => {
              event.preventDefault();
              setEdited(undefined);
              props.onSayAgain(turn.id, edited);
            }}
          >
            <Textarea
              aria-label="Edited message"
              value={edited}
              onChange={(event) => setEdited(event.currentTarget.value)}
              autosize
              minRows={2}
              maxRows={12}
              autoFocus
            />
            <Group gap="xs" mt="xs" justify="flex-end">
              <Button size="xs" variant="default" onClick={() => setEdited(undefined)}>
                Cancel
              </Button>
              <Button size="xs" type="submit" disabled={edited.trim() === "" || isBusy}>
                Send again
              </Button>
            </Group>
          </form>
        )}
      </div>
      <div className={classes.answers}>
        {turn.answers.map((answer) => (
          <AnswerCard
            key={answer.modelId}
            answer={answer}
            name={names.get(answer.modelId) ?? answer.modelId}
          />
        ))}
      </div>
    </article>
  );
});

/** What a screen reader announces of each answer once all of them have ended. */
const ENDS: Readonly<Partial<Record<ChatAnswer["state"], string>>> = {
  done: "The answer is complete.",
  stopped: "You stopped the answer.",
  ended_early: "The answer ended early.",
  refused: "There is no answer.",
};
