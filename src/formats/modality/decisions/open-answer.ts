import type { Deployment } from "../../../catalog/index.ts";
import {
  asObject,
  DECISION_ANSWER_BYTES_MAX,
  outputTokensTotal,
  promptTokensTotal,
  tryPrint,
  type Usage,
  ZERO_USAGE,
} from "../../../kernel/index.ts";
import { type AnswerBridge, ServedModelNote } from "../../wire/answer/answer-bridge.ts";
import type { AnswerContext } from "../../wire/modality.ts";
import {
  failedRead,
  type ReadAnswer,
  unblamedFailure,
  unusableFailure,
} from "../../wire/failure/failures.ts";
import { JsonBridge } from "../../wire/answer/json-bridge.ts";
import { openaiChat } from "../../wire/openai-chat/index.ts";
import type { ReadyAnswer } from "../../wire/neutral/chat-answer.ts";
import { readInputOutput, type UsageReport } from "../../wire/neutral/usage-report.ts";
import {
  type Fields,
  isNamedLikeOwnMember,
  type NamedAnswer,
  readGlinerAnswers,
  readSystemOneAnswers,
} from "./read-answers.ts";
import { classifyDecisionWording, isErrorBody } from "./classify.ts";
import { envelopeWording, openEnvelope } from "./envelope.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";
import type { Question } from "./question.ts";

export interface OpenDecisionAnswer extends Omit<AnswerContext, "reserveMicroUsd"> {
  readonly request: Pick<ParsedDecisionRequest, "questions">;
  readonly deployment: Deployment;
}

/** Returns the bridge for a 2xx. It fails unless every question gets a value of its type. */
export function openDecisionAnswer(open: OpenDecisionAnswer): AnswerBridge {
  const { deployment, request } = open;
  const note = new ServedModelNote(deployment);
  const asksForError = request.questions.some(
    (each) => each.wire === "gliner" && each.resultName === "error",
  );
  return new JsonBridge({
    read: ({ value }) => readDecision(value, open, note),
    note,
    renderError: (refusal) => openaiChat.errorBody(refusal, open.requestId),
    bytesMax: DECISION_ANSWER_BYTES_MAX,
    classifyError: (value) =>
      // A flat GLiNER answer can have a result named `error` among the provider's own fields.
      isErrorBody(value, deployment) && !asksForError
        ? classifyDecisionWording(envelopeWording(value), deployment)
        : undefined,
  });
}

function readDecision(
  value: Fields,
  open: OpenDecisionAnswer,
  note: ServedModelNote,
): ReadAnswer<ReadyAnswer> {
  const { deployment, request } = open;
  const opened = openEnvelope(value, deployment.decisions?.envelope);
  if (opened.kind === "refused") {
    return failedRead(classifyDecisionWording(opened.errorText, deployment));
  }
  if (opened.kind === "unreadable") return UNUSABLE;
  note.take(opened.body["model"]);
  const answers = readAnswers(opened.body, request.questions);
  const answersText = answers && answersJson(answers);
  if (answersText === undefined) {
    if (!request.questions.some(isNamedLikeOwnMember)) return UNUSABLE;
    // The body's `model` may be the answer to a question.
    note.served = undefined;
    return AMBIGUOUS;
  }
  const report = readDecisionReport(opened.body);
  return {
    ok: true,
    report,
    bodyText: (costUsd) =>
      `{"id":"${open.requestId}","object":"decision","created":${open.createdSeconds},` +
      `"model":${JSON.stringify(deployment.modelId)},"answers":${answersText},` +
      `"usage":${decisionUsageJson(report?.usage ?? ZERO_USAGE, costUsd)}}`,
  };
}

const UNUSABLE = failedRead(unusableFailure());
/** The names of the client's questions may be the cause, so the provider is not blamed. */
const AMBIGUOUS = failedRead(unblamedFailure());

function readAnswers(
  body: Fields,
  questions: readonly Question[],
): readonly NamedAnswer[] | undefined {
  const systemone = questions.filter((each) => each.wire === "systemone");
  const gliner = questions.filter((each) => each.wire === "gliner");
  return gliner.length === 0
    ? readSystemOneAnswers(body, systemone)
    : readGlinerAnswers(body, gliner);
}

/** Writes the members one by one, because an object would move numeric names to the front. */
function answersJson(answers: readonly NamedAnswer[]): string | undefined {
  const members = answers.map(({ name, answer }) => {
    const text = tryPrint(answer);
    return text && `${JSON.stringify(name)}:${text}`;
  });
  return members.every((member) => member !== undefined) ? `{${members.join(",")}}` : undefined;
}

function readDecisionReport(body: Fields): UsageReport | undefined {
  // GLiNER providers report `token_usage`, which can be a plain number of input tokens.
  const own = body["token_usage"];
  return (
    readInputOutput(asObject(body["usage"]) ?? {}) ??
    readInputOutput(asObject(own) ?? { input_tokens: own })
  );
}

/** `costUsd` is the text of a number and is printed unchanged. */
function decisionUsageJson(usage: Usage, costUsd: string): string {
  const input = promptTokensTotal(usage);
  const output = outputTokensTotal(usage);
  const cached =
    usage.cachedPrompt === 0
      ? ""
      : `"input_tokens_details":{"cached_tokens":${usage.cachedPrompt}},`;
  return (
    `{"input_tokens":${input},"output_tokens":${output},"total_tokens":${input + output},` +
    `${cached}"cost":${costUsd}}`
  );
}
