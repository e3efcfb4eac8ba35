import { decisionAnswerBytesMax } from "../../core/constants.ts";
import { ZERO_USAGE } from "../../core/usage.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import type { ReadyAnswer } from "../../wire/neutral/chat-answer.ts";
import { JsonBridge } from "../../wire/answer/json-bridge.ts";
import { tryPrint } from "../../json/json-edit.ts";
import { ServedModelNote } from "../../wire/neutral/served-model-note.ts";
import type { UpstreamFailure } from "../../wire/failure/upstream-failure.ts";
import { renderErrorBody } from "../../wire/error-body.ts";
import { unusableFailure } from "../../wire/failure/failures.ts";
import type { Fields, NamedAnswer } from "./answer-values.ts";
import { classifyDecisionWords, isErrorBody } from "./classify.ts";
import { decisionUsageJson, readDecisionUsage } from "./decision-usage.ts";
import type { DecisionRequest, OpenDecisionAnswer } from "./decision-wire.ts";
import { envelopeWords, openEnvelope } from "./envelope.ts";
import { readGlinerAnswers } from "./read-answers-gliner.ts";
import { readSystemOneAnswers } from "./read-answers-systemone.ts";

/** The bridge for a provider's 2xx: every question answered in its type, or none. */
export function openDecisionAnswer(open: OpenDecisionAnswer): AnswerBridge {
  const { deployment, request } = open;
  const note = new ServedModelNote(deployment);
  return new JsonBridge({
    read: ({ value }) => readDecision(value, open, note),
    note,
    renderError: (refusal) => renderErrorBody("wire_a", refusal, open.requestId),
    bytesMax: decisionAnswerBytesMax,
    classifyError: (value) =>
      isErrorBody(value, deployment) && !asksFor("error", request)
        ? classifyDecisionWords(envelopeWords(value), deployment)
        : undefined,
  });
}

/** In a flat GLiNER answer a question's name is beside the body's own fields. */
function asksFor(name: string, { questions }: DecisionRequest): boolean {
  return questions.some((each) => each.wire === "gliner" && each.resultName === name);
}

function readDecision(
  value: Fields,
  open: OpenDecisionAnswer,
  note: ServedModelNote,
): ReadyAnswer | UpstreamFailure {
  const { deployment, request } = open;
  const opened = openEnvelope(value, deployment.decisions?.envelope);
  if (opened.kind === "refused") return classifyDecisionWords(opened.words, deployment);
  if (opened.kind === "unreadable") return unusableFailure();
  note.take(opened.body["model"]);
  const answers = readAnswers(opened.body, request);
  const answersText = answers && answersJson(answers);
  if (answersText === undefined) return unusableFailure();
  const usage = readDecisionUsage(opened.body);
  return {
    report: usage && { usage },
    bodyText: (costUsd) =>
      `{"id":"${open.requestId}","object":"decision","created":${open.createdSeconds},` +
      `"model":${JSON.stringify(deployment.modelId)},"answers":${answersText},` +
      `"usage":${decisionUsageJson(usage ?? ZERO_USAGE, costUsd)}}`,
  };
}

function readAnswers(
  body: Fields,
  { questions }: DecisionRequest,
): readonly NamedAnswer[] | undefined {
  const systemone = questions.filter((each) => each.wire === "systemone");
  return systemone.length === questions.length
    ? readSystemOneAnswers(body, systemone)
    : readGlinerAnswers(
        body,
        questions.filter((each) => each.wire === "gliner"),
      );
}

/* Written by hand: an object would put names that look like numbers in front of the others. */
function answersJson(answers: readonly NamedAnswer[]): string | undefined {
  const members = answers.map(({ name, answer }) => {
    const text = tryPrint(answer);
    return text && `${JSON.stringify(name)}:${text}`;
  });
  return members.every((member) => member !== undefined) ? `{${members.join(",")}}` : undefined;
}
