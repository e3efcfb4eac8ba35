import { newId } from "../browser-store.ts";
import type {
  Attachment,
  ChatAnswer,
  ChatSettings,
  Conversation,
  ToolResult,
  Turn,
} from "./chat-types.ts";

const TITLE_CHARS = 60;

interface AnswerAt {
  readonly turnId: string;
  readonly modelId: string;
}

export function emptyConversation(orgId: string, settings: ChatSettings): Conversation {
  return {
    id: newId(),
    orgId,
    title: "New conversation",
    updatedAtMs: Date.now(),
    settings,
    turns: [],
    copyId: newId(),
  };
}

/**
 * Returns what to store for a tab's copy of a conversation. If another tab has changed the stored
 * conversation since, the copy gets an ID of its own, so that neither loses its answers.
 */
export function nextStored(copy: Conversation, stored: Conversation | undefined): Conversation {
  const isOwn =
    stored === undefined || stored.copyId === copy.copyId || stored.revision === copy.revision;
  const next = { ...copy, revision: newId() };
  if (isOwn) return next;
  const { copyId = copy.id } = copy;
  // If one copy is written twice before it learns of its new ID, both writes get the same ID.
  const id = copyId === copy.id ? newId() : copyId;
  return { ...next, id, copyId: id };
}

export function createTurn(
  text: string,
  attachments: readonly Attachment[],
  modelIds: readonly string[],
): Turn {
  return { id: newId(), text, attachments, answers: modelIds.map(waitingAnswer) };
}

function waitingAnswer(modelId: string): ChatAnswer {
  return { modelId, attemptId: newId(), text: "", reasoning: "", state: "waiting" };
}

/**
 * Sets the answer of `modelId` to waiting, or every answer if `modelId` is absent. Later turns are
 * dropped, because they reply to the old answer. Undefined if there is no turn `turnId`.
 */
export function turnsBefore(
  turns: readonly Turn[],
  turnId: string,
  modelId?: string,
): readonly Turn[] | undefined {
  const at = turns.findIndex(({ id }) => id === turnId);
  const turn = turns[at];
  if (turn === undefined) return undefined;
  const answers = turn.answers.map((each) =>
    modelId === undefined || each.modelId === modelId ? waitingAnswer(each.modelId) : each,
  );
  return [...turns.slice(0, at), { ...turn, answers }];
}

/**
 * Adds a turn with the results of a model's tool calls. Results for several models go into one
 * turn. Undefined if there is no turn `turnId`.
 */
export function answeredTools(
  turns: readonly Turn[],
  of: AnswerAt & { readonly results: readonly ToolResult[] },
): readonly Turn[] | undefined {
  const { turnId, modelId, results } = of;
  const at = turns.findIndex(({ id }) => id === turnId);
  if (at < 0) return undefined;
  const next = turns[at + 1];
  const isOther = next?.toolResults !== undefined && next.toolResults[modelId] === undefined;
  const before = isOther ? next : createTurn("", [], []);
  const joined = {
    ...before,
    toolResults: { ...before.toolResults, [modelId]: results },
    answers: [...before.answers, waitingAnswer(modelId)],
  };
  return [...turns.slice(0, at + 1), joined];
}

export function chooseTitle(turns: readonly Turn[]): string {
  const first = turns[0];
  const said = first?.text.trim().split("\n")[0] ?? "";
  return said.slice(0, TITLE_CHARS) || first?.attachments[0]?.name || "New conversation";
}

/** True if the answer gets no more text. Its cost may still follow. */
export function isEnd(state: ChatAnswer["state"] | undefined): boolean {
  return state !== undefined && state !== "waiting" && state !== "streaming";
}

/** Copies a stored conversation. Answers that are incomplete in it become `ended_early`. */
export function openCopy(kept: Conversation): Conversation {
  const message = "You left the page before the answer was complete.";
  return {
    ...kept,
    copyId: newId(),
    turns: kept.turns.map((turn) => ({
      ...turn,
      answers: turn.answers.map((answer) =>
        isEnd(answer.state) ? answer : { ...answer, state: "ended_early", message },
      ),
    })),
  };
}

/** With `attemptId`, changes the answer only if it belongs to that attempt. */
export function withAnswer(
  conversation: Conversation,
  of: AnswerAt & { readonly attemptId?: string | undefined },
  change: Partial<ChatAnswer>,
): Conversation {
  const { turnId, modelId, attemptId } = of;
  const isIt = (answer: ChatAnswer): boolean =>
    answer.modelId === modelId && (attemptId === undefined || answer.attemptId === attemptId);
  const turns = conversation.turns.map((turn) => {
    if (turn.id !== turnId) return turn;
    const answers = turn.answers.map((each) => (isIt(each) ? { ...each, ...change } : each));
    return { ...turn, answers };
  });
  return { ...conversation, turns };
}

/** Tokens per second between the first token and the last; undefined if it was not measured. */
export function tokensPerSecond(answer: ChatAnswer): number | undefined {
  const { completionTokens, firstByteMs, durationMs } = answer;
  if (completionTokens === undefined || firstByteMs === undefined || durationMs === undefined) {
    return undefined;
  }
  const streamedMs = durationMs - firstByteMs;
  return streamedMs <= 0 ? undefined : Math.round((completionTokens * 1000) / streamedMs);
}
