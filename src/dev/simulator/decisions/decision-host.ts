import { textOf } from "../../../kernel/index.ts";
import type { ErrorWriter, SimError, Troubles } from "../sim-error.ts";
import { isObject, type JsonObject } from "../json.ts";
import { type Decided, collectImageParts } from "./decision-order.ts";
import { envelopeCode, envelopeError } from "./envelope.ts";
import { glinerResults, readPublicGliner, readSentGliner } from "./gliner.ts";
import { readPublicSystemone, readSentSystemone, systemoneAnswers } from "./systemone.ts";

export interface DecisionHost {
  decide(body: JsonObject): Decided | SimError;
  /** `usage` replaces single fields of the reported usage. If it is null, no usage is reported. */
  answer(decided: Decided, usage: JsonObject | null): JsonObject;
  readonly error: ErrorWriter;
  readonly troubles: Troubles;
  readonly hasEnvelope: boolean;
  bodyProblem(bodyBytes: number): SimError | undefined;
}

/** The provider's own public format, or the format in which the marketplace sends requests. */
export type DecisionForm = "public" | "as_sent";

const OUTPUT_TOKENS_PER_QUESTION = 10;
const PLAIN_TOKENS_MAX = 32_000;
const PER_QUESTION_TOKENS_MAX = 262_144;
const ENVELOPE_TOKENS_MAX = 65_536;
const ENVELOPE_BYTES_PER_TOKEN = 4;

/** A Systemone provider that bills the request's `state` once, for any number of questions. */
export function plainHost(form: DecisionForm): DecisionHost {
  return systemoneHost(form, false);
}

/** A Systemone provider that bills the whole `state` for each question, and reads images. */
export function perQuestionHost(form: DecisionForm): DecisionHost {
  return systemoneHost(form, true);
}

/** A `plainHost` that wraps answers with `result` and `errors`, and limits the size of a body. */
export function envelopeHost(form: DecisionForm): DecisionHost {
  return {
    ...plainHost(form),
    error: envelopeError,
    troubles: {
      context_overflow: envelopeCode(5021),
      content_filter: { ...envelopeCode(5006), message: "The input violates our usage policies." },
      failed: { status: 529, code: "5012", message: "Inference failed." },
    },
    hasEnvelope: true,
    bodyProblem: (bodyBytes) =>
      bodyBytes / ENVELOPE_BYTES_PER_TOKEN > ENVELOPE_TOKENS_MAX ? envelopeCode(5021) : undefined,
  };
}

/** A GLiNER provider. Its results are not nested, and it reports one total of tokens. */
export function glinerHost(form: DecisionForm): DecisionHost {
  const read = form === "public" ? readPublicGliner : readSentGliner;
  return {
    decide: (body) => {
      if (collectImageParts(body).length > 0) return refusedImage;
      const order = read(body);
      if ("status" in order) return order;
      const answers = glinerResults(order);
      const inputTokens = order.stateTokens + sum(order.questionTokens);
      const stateTokensSaved = order.stateTokens * (order.questions.length - 1);
      return { answers, inputTokens, stateTokensSaved, outputTokens: 0, model: order.model };
    },
    answer: ({ answers, inputTokens }, usage) => ({
      result: answers,
      ...(usage && { token_usage: inputTokens, ...usageBeside(usage) }),
    }),
    error: ({ message }) => ({ detail: message }),
    troubles: buildTroubles("Input is too long: the context window of the model is exceeded."),
    hasEnvelope: false,
    bodyProblem: () => undefined,
  };
}

const refusedImage: SimError = {
  status: 422,
  code: "validation_error",
  message: "this model reads text only, and the request has an image_url object",
};

/** If `isPerQuestion`, the provider bills the `state` for each question, and reads images. */
function systemoneHost(form: DecisionForm, isPerQuestion: boolean): DecisionHost {
  const read = form === "public" ? readPublicSystemone : readSentSystemone;
  return {
    decide: (body) => {
      const images = collectImageParts([body["state"], body["questions"]]);
      if (images.length > 0 && !isPerQuestion) return refusedImage;
      const bad = images.find((part) => !isDataUrl(part));
      if (bad !== undefined) return { status: 400, message: "image_url: only data URLs are read" };
      const order = read(body);
      return "status" in order ? order : decided(order, isPerQuestion);
    },
    answer: ({ answers, inputTokens, outputTokens, model }, usage) => {
      const counted = { input_tokens: inputTokens, output_tokens: outputTokens };
      return { model, answers, ...(usage && { usage: { ...counted, ...usage } }) };
    },
    error: ({ message, code = null, status }) => {
      const type = status >= 500 ? "server_error" : "invalid_request_error";
      return { error: { message, type, code } };
    },
    troubles: buildTroubles(overflowWording(isPerQuestion)),
    hasEnvelope: false,
    bodyProblem: () => undefined,
  };
}

type SystemoneOrder = Parameters<typeof systemoneAnswers>[0];

function decided(order: SystemoneOrder, isPerQuestion: boolean): Decided | SimError {
  const { stateTokens, questionTokens, questions, model } = order;
  const longest = stateTokens + Math.max(...questionTokens);
  const tokensMax = isPerQuestion ? PER_QUESTION_TOKENS_MAX : PLAIN_TOKENS_MAX;
  if (longest > tokensMax) return overflow(overflowWording(isPerQuestion));
  const states = isPerQuestion ? questions.length : 1;
  return {
    answers: systemoneAnswers(order),
    inputTokens: states * stateTokens + sum(questionTokens),
    stateTokensSaved: (questions.length - states) * stateTokens,
    outputTokens: questions.length * OUTPUT_TOKENS_PER_QUESTION,
    model,
  };
}

function overflowWording(isPerQuestion: boolean): string {
  return isPerQuestion
    ? `The question exceeds the maximum context length (${PER_QUESTION_TOKENS_MAX}).`
    : `State and question exceed the maximum context length of ${PLAIN_TOKENS_MAX} tokens.`;
}

function isDataUrl(part: JsonObject): boolean {
  const { image_url: image } = part;
  const url = isObject(image) ? textOf(image["url"]) : "";
  return /^data:image\/(png|jpeg|webp);base64,[\w+/]+=*$/.test(url);
}

/* The tokens are in `token_usage`; other fields of a scripted usage go into `usage`. */
function usageBeside(usage: JsonObject): JsonObject {
  const { token_usage: own, ...rest } = usage;
  return {
    ...(own !== undefined && { token_usage: own }),
    ...(Object.keys(rest).length > 0 && { usage: rest }),
  };
}

function overflow(message: string): SimError {
  return { status: 400, code: "context_length_exceeded", message };
}

function buildTroubles(overflowMessage: string): Troubles {
  return {
    context_overflow: overflow(overflowMessage),
    content_filter: {
      status: 400,
      code: "content_policy_violation",
      message: "The state was blocked by the content policy.",
    },
    failed: { status: 500, code: "server_error", message: "Internal server error" },
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
