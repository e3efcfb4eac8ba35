import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Model } from "../../../../../src/console-api/contract.ts";
import { BrowserShelf } from "../browser-store.ts";
import { useFreshBalance } from "../use-fresh-balance.ts";
import { chatBody } from "./chat-request.ts";
import type { Attachment, ChatAnswer, ChatSettings, Conversation, Turn } from "./chat-types.ts";
import { streamChat } from "./stream-chat.ts";

const KEPT_MAX = 50;
const TITLE_CHARS = 60;

export const conversations = new BrowserShelf<Conversation>("conversations", KEPT_MAX);

export interface Chat {
  readonly conversation: Conversation;
  readonly isBusy: boolean;
  /** False: this browser keeps nothing, as in a private window. */
  readonly isKept: boolean;
  readonly change: (settings: Partial<ChatSettings>) => void;
  readonly say: (text: string, attachments: readonly Attachment[]) => void;
  /** Says something else in place of a message; what came after it is dropped. */
  readonly sayAgain: (turnId: string, text: string) => void;
  readonly stop: () => void;
  readonly open: (conversation: Conversation) => void;
  readonly startNew: () => void;
}

/** One conversation with up to four models, streamed, and kept in this browser alone. */
export function useChat(options: {
  readonly orgId: string;
  readonly models: readonly Model[];
  readonly modelIds: readonly string[];
}): Chat {
  const { orgId, models, modelIds } = options;
  const [conversation, setConversation] = useState(() => emptyConversation(orgId, modelIds));
  const [running, setRunning] = useState(0);
  const [isKept, setKept] = useState(true);
  const freshBalance = useFreshBalance();
  const abort = useRef<AbortController>(undefined);
  // Leaving the page ends what is running: no one would see it, and it costs.
  useEffect(() => () => abort.current?.abort(), []);

  const isBusy = running > 0;
  useEffect(() => {
    if (isBusy || conversation.turns.length === 0) return;
    void conversations.keep(conversation).then(setKept);
  }, [conversation, isBusy]);

  const ask = useCallback(
    (turns: readonly Turn[], settings: ChatSettings) => {
      const turn = turns.at(-1);
      if (turn === undefined) return;
      abort.current?.abort();
      const controller = new AbortController();
      abort.current = controller;
      for (const { modelId } of turn.answers) {
        const model = models.find(({ id }) => id === modelId);
        if (model === undefined) continue;
        setRunning((count) => count + 1);
        let isRunning = true;
        void streamChat(chatBody(model, settings, turns), controller.signal, (change) => {
          setConversation((before) => withAnswer(before, turn.id, modelId, change));
          if (!isRunning || !isEnd(change.state)) return;
          isRunning = false;
          setRunning((count) => count - 1);
        }).then(freshBalance);
      }
    },
    [models, freshBalance],
  );

  return useMemo(() => {
    const say = (before: readonly Turn[], said: string, files: readonly Attachment[]): void => {
      const turn = newTurn(said, files, conversation.settings.modelIds);
      const turns = [...before, turn];
      const next = { ...conversation, title: titleOf(turns), updatedAtMs: Date.now(), turns };
      setConversation(next);
      // What was said is kept at once: a page that is left before the answer loses the answer only.
      void conversations.keep(next).then(setKept);
      ask(turns, conversation.settings);
    };
    /** What is still coming in ends here; what has come is kept. */
    const leave = (): void => {
      abort.current?.abort();
      if (isBusy) void conversations.keep(conversation);
    };
    return {
      conversation,
      isBusy,
      isKept,
      change: (settings) =>
        setConversation((before) => ({
          ...before,
          settings: { ...before.settings, ...settings },
        })),
      say: (said, files) => say(conversation.turns, said, files),
      sayAgain: (turnId, said) => {
        const at = conversation.turns.findIndex(({ id }) => id === turnId);
        const files = conversation.turns[at]?.attachments ?? [];
        if (at >= 0) say(conversation.turns.slice(0, at), said, files);
      },
      stop: () => abort.current?.abort(),
      open: (kept) => {
        leave();
        setConversation(withEnds(kept));
      },
      startNew: () => {
        leave();
        setConversation({
          ...emptyConversation(orgId, []),
          settings: conversation.settings,
        });
      },
    };
  }, [ask, conversation, isBusy, isKept, orgId]);
}

function emptyConversation(orgId: string, modelIds: readonly string[]): Conversation {
  return {
    id: crypto.randomUUID(),
    orgId,
    title: "New conversation",
    updatedAtMs: Date.now(),
    settings: { modelIds, system: "", parameters: {} },
    turns: [],
  };
}

function newTurn(
  text: string,
  attachments: readonly Attachment[],
  modelIds: readonly string[],
): Turn {
  const answers = modelIds.map((modelId): ChatAnswer => ({
    modelId,
    text: "",
    reasoning: "",
    state: "waiting",
  }));
  return { id: crypto.randomUUID(), text, attachments, answers };
}

function titleOf(turns: readonly Turn[]): string {
  const first = turns[0];
  const said = first?.text.trim().split("\n")[0] ?? "";
  return said.slice(0, TITLE_CHARS) || first?.attachments[0]?.name || "New conversation";
}

/** Its text is complete; its cost may come later. */
function isEnd(state: ChatAnswer["state"] | undefined): boolean {
  return state !== undefined && state !== "waiting" && state !== "streaming";
}

/** An answer that was still coming when its page was left comes no more. */
function withEnds(kept: Conversation): Conversation {
  return {
    ...kept,
    turns: kept.turns.map((turn) => ({
      ...turn,
      answers: turn.answers.map((answer) =>
        answer.state === "waiting" || answer.state === "streaming"
          ? {
              ...answer,
              state: "ended_early",
              message: "You left the page before the answer was complete.",
            }
          : answer,
      ),
    })),
  };
}

function withAnswer(
  conversation: Conversation,
  turnId: string,
  modelId: string,
  change: Partial<ChatAnswer>,
): Conversation {
  return {
    ...conversation,
    turns: conversation.turns.map((turn) =>
      turn.id !== turnId
        ? turn
        : {
            ...turn,
            answers: turn.answers.map((answer) =>
              answer.modelId === modelId ? { ...answer, ...change } : answer,
            ),
          },
    ),
  };
}
