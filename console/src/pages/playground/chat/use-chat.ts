import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Model } from "../../../api/contract.ts";
import { recall, remember } from "../../../ui/browser-memory.ts";
import { notifyProblem } from "../../../ui/notice.ts";
import { BrowserShelf } from "../browser-store.ts";
import { useFreshBalance } from "../tab-props.ts";
import { chatBody, unlistedProblem } from "./chat-request.ts";
import type { Attachment, ChatSettings, Conversation, ToolResult, Turn } from "./chat-types.ts";
import {
  answeredTools,
  chooseTitle,
  createTurn,
  emptyConversation,
  isEnd,
  nextStored,
  openCopy,
  turnsBefore,
  withAnswer,
} from "./conversation.ts";
import { untakenBy, untakenProblem } from "./read-attachment.ts";
import { streamChat } from "./stream-chat.ts";

const KEPT_MAX = 50;

export const conversations = new BrowserShelf<Conversation>("conversations", KEPT_MAX);

export type Chat = ReturnType<typeof useChat>;

/** Holds a conversation with up to four models. Only this browser stores it. */
export function useChat(options: {
  readonly orgId: string;
  readonly models: readonly Model[];
  readonly settings: ChatSettings;
  /** Whether the conversation that was open before a reload may be shown again. */
  readonly mayReopen: (kept: Conversation) => boolean;
}) {
  const { orgId, models, settings, mayReopen } = options;
  const [conversation, setConversation] = useState(() => emptyConversation(orgId, settings));
  const [isKept, keep] = useKeeping(setConversation);
  const { ask, isBusy, stop } = useAnswers(models, setConversation);
  useReopened(orgId, mayReopen, setConversation);

  useEffect(() => {
    if (isBusy || conversation.turns.length === 0) return;
    keep(conversation);
  }, [conversation, isBusy, keep]);

  return useMemo(() => {
    const go = (turns: readonly Turn[]): void => {
      const asked = models.filter(({ id }) =>
        turns.at(-1)?.answers.some((each) => each.modelId === id && each.state === "waiting"),
      );
      const problem = untakenBy(asked, turns);
      // What would be refused must not erase later messages.
      if (problem !== undefined && turns.length < conversation.turns.length) {
        notifyProblem(problem);
        return;
      }
      const next = { ...conversation, title: chooseTitle(turns), updatedAtMs: Date.now(), turns };
      setConversation(next);
      rememberOpen(orgId, next.id);
      // The message is stored before the answers come, so that leaving the page does not lose it.
      keep(next);
      ask(turns, conversation.settings);
    };
    const say = (before: readonly Turn[], said: string, files: readonly Attachment[]): void =>
      go([...before, createTurn(said, files, conversation.settings.modelIds)]);
    const show = (next: Conversation): void => {
      stop();
      rememberOpen(orgId, next.turns.length === 0 ? undefined : next.id);
      setConversation(next);
    };
    const leaveFor = (next: Conversation): void => {
      if (isBusy) keep(conversation);
      show(next);
    };
    return {
      conversation,
      isBusy,
      /** False if this browser stores nothing, as in some private windows. */
      isKept,
      change: (changed: Partial<ChatSettings>): void =>
        setConversation((before) => ({ ...before, settings: { ...before.settings, ...changed } })),
      say: (said: string, files: readonly Attachment[]) => say(conversation.turns, said, files),
      /** Replaces a message, drops all later turns, and sends it to the models again. */
      sayAgain: (turnId: string, said: string): void => {
        const at = conversation.turns.findIndex(({ id }) => id === turnId);
        const files = conversation.turns[at]?.attachments ?? [];
        if (at >= 0) say(conversation.turns.slice(0, at), said, files);
      },
      /** Gets a new answer from one model, and drops all later turns. */
      regenerate: (turnId: string, modelId: string): void => {
        const turns = turnsBefore(conversation.turns, turnId, modelId);
        if (turns !== undefined) go(turns);
      },
      /** Changes the text of an answer. Later messages send the changed text to the model. */
      editAnswer: (turnId: string, modelId: string, text: string): void => {
        const change = { text, isEdited: true };
        setConversation((before) => withAnswer(before, { turnId, modelId }, change));
      },
      giveResults: (turnId: string, modelId: string, results: readonly ToolResult[]): void => {
        const turns = answeredTools(conversation.turns, { turnId, modelId, results });
        if (turns !== undefined) go(turns);
      },
      stop,
      open: (kept: Conversation): void => leaveFor(openUnchanged(kept)),
      startNew: (): void => leaveFor(emptyConversation(orgId, conversation.settings)),
      /** Shows a new conversation after this one was deleted, which must not store it again. */
      drop: (): void => show(emptyConversation(orgId, conversation.settings)),
    };
  }, [ask, models, stop, keep, conversation, isBusy, isKept, orgId]);
}

type SetConversation = (change: (before: Conversation) => Conversation) => void;

/** Copies unchanged since opening. They are not stored: other tabs would see it as a change. */
const unchanged = new WeakSet<Conversation>();

function openUnchanged(kept: Conversation): Conversation {
  const copy = openCopy(kept);
  unchanged.add(copy);
  return copy;
}

/** Stores this tab's copies. A copy gets a new ID if another tab changed the stored version. */
function useKeeping(
  setConversation: SetConversation,
): readonly [isKept: boolean, keep: (copy: Conversation) => void] {
  const [isKept, setKept] = useState(true);
  const keep = useCallback(
    (copy: Conversation) => {
      if (unchanged.has(copy)) return;
      let { id } = copy;
      const choose = (stored: Conversation | undefined): Conversation => {
        const next = nextStored(copy, stored);
        ({ id } = next);
        return next;
      };
      void conversations.keep(copy, choose).then((isStored) => {
        setKept(isStored);
        if (!isStored || id === copy.id) return;
        setConversation((now) => (now.copyId === copy.copyId ? { ...now, id, copyId: id } : now));
        if (recallOpen(copy.orgId) === copy.id) rememberOpen(copy.orgId, id);
      });
    },
    [setConversation],
  );
  return [isKept, keep];
}

/** Streams only the answers of the last turn that are waiting, with one stream per model. */
function useAnswers(models: readonly Model[], setConversation: SetConversation) {
  const [running, setRunning] = useState(0);
  const freshBalance = useFreshBalance();
  const abort = useRef<AbortController>(undefined);
  const stop = useCallback(() => abort.current?.abort(), []);
  // Leaving the page stops running answers, because answers that nobody reads would cost money.
  useEffect(() => stop, [stop]);
  const ask = useCallback(
    (turns: readonly Turn[], settings: ChatSettings) => {
      const turn = turns.at(-1);
      if (turn === undefined) return;
      abort.current?.abort();
      const controller = new AbortController();
      abort.current = controller;
      for (const { modelId, attemptId, state } of turn.answers) {
        const model = models.find(({ id }) => id === modelId);
        if (state !== "waiting") continue;
        const of = { turnId: turn.id, modelId, attemptId };
        const problem = model === undefined ? undefined : untakenProblem(model, turns);
        if (model === undefined || problem !== undefined) {
          const message = problem ?? unlistedProblem([modelId]);
          setConversation((before) => withAnswer(before, of, { state: "refused", message }));
          continue;
        }
        setRunning((count) => count + 1);
        let isRunning = true;
        void streamChat(chatBody(model, settings, turns), controller.signal, (change) => {
          setConversation((before) => withAnswer(before, of, change));
          if (!isRunning || !isEnd(change.state)) return;
          isRunning = false;
          setRunning((count) => count - 1);
        }).then(freshBalance);
      }
    },
    [models, freshBalance, setConversation],
  );
  return { ask, isBusy: running > 0, stop };
}

function useReopened(
  orgId: string,
  mayReopen: (kept: Conversation) => boolean,
  setConversation: SetConversation,
): void {
  const atFirst = useRef(mayReopen);
  useEffect(() => {
    const openId = recallOpen(orgId);
    if (openId === undefined) return;
    void conversations.list(orgId).then((kept) => {
      const found = kept.find(({ id }) => id === openId);
      if (found === undefined || !atFirst.current(found)) return;
      // If the reader has sent a message in the meantime, the new conversation stays open.
      setConversation((before) => (before.turns.length === 0 ? openUnchanged(found) : before));
    });
  }, [orgId, setConversation]);
}

/** Remembers which conversation this tab shows, so that a reload shows it again. */
function rememberOpen(orgId: string, conversationId: string | undefined): void {
  remember("sessionStorage", `${OPEN_NAME}${orgId}`, conversationId);
}

function recallOpen(orgId: string): unknown {
  return recall("sessionStorage", `${OPEN_NAME}${orgId}`);
}
const OPEN_NAME = "tm-playground-open:";
