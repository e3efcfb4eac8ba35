import { ActionIcon, Text } from "@mantine/core";
import { Pencil } from "lucide-react";
import { memo, useMemo, useState, type ReactElement } from "react";

import { Tip } from "../../../ui/tip.tsx";
import shared from "../playground.module.css";
import { AnswerCard, type AnswerActions } from "./answer-card.tsx";
import classes from "./chat.module.css";
import type { Turn } from "./chat-types.ts";
import { FilePreview } from "./composer.tsx";
import { EditForm } from "./edit-form.tsx";
import type { Chat } from "./use-chat.ts";

export interface TurnViewProps {
  readonly turn: Turn;
  /** The turn after this one. It may contain the results of this turn's tool calls. */
  readonly next: Turn | undefined;
  /** The model whose answer is shown. Undefined shows the answers of all models. */
  readonly modelId?: string | undefined;
  readonly names: ReadonlyMap<string, string>;
  readonly isBusy: boolean;
  readonly chat: Pick<Chat, "sayAgain" | "regenerate" | "editAnswer" | "giveResults">;
}

export const TurnView = memo(function TurnView(props: TurnViewProps): ReactElement | null {
  const { turn, next, modelId, names, isBusy, chat } = props;
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
        <Said turn={turn} isBusy={isBusy} onSayAgain={chat.sayAgain} />
      ) : (
        <Results turn={turn} modelId={modelId} />
      )}
      {answers.length === 0 ? (
        <Text size="xs" c="dimmed">
          Not sent to this model.
        </Text>
      ) : null}
      <div className={classes.answers}>
        {answers.map((answer) => (
          <AnswerCard
            key={answer.modelId}
            answer={answer}
            name={names.get(answer.modelId) ?? answer.modelId}
            isBusy={isBusy}
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

function Results(props: {
  readonly turn: Turn;
  readonly modelId: string | undefined;
}): ReactElement {
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
}): ReactElement {
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
      <Tip label="Edit and send again">
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label="Edit and send again"
          disabled={isBusy}
          onClick={() => setEdited(true)}
        >
          <Pencil size={14} aria-hidden />
        </ActionIcon>
      </Tip>
    </div>
  );
}
