import type { SimAnswer } from "./answer.ts";
import {
  cheatedAnswer,
  cheatedBody,
  cheatedFrames,
  cheatedModel,
  cheatedRequest,
} from "./chat-cheats.ts";
import { isCheating } from "./cheats.ts";
import { deliverJson, deliverStream, failEarly } from "./deliver.ts";
import type { Dialect, Envelope } from "./dialect.ts";
import { isObject } from "./json.ts";
import type { ReceivedCall } from "./received-call.ts";
import type { SimError } from "./host-errors.ts";
import type { SimRequest } from "./sim-request.ts";
import { isRefused, keyProblemOf, requestProblemOf, withWords } from "./trouble.ts";

/** A call of one of the chat wires. */
export interface Generation extends ReceivedCall {
  readonly dialect: Dialect;
}

/** Answers a generation call as a provider would, or as its faults say. */
export async function answerGeneration(generation: Generation): Promise<void> {
  const { dialect, delivery, body } = generation;
  const { faults } = delivery;
  await failEarly(delivery);
  const isOver = await isRefused(dialect, delivery, problemOf(generation));
  if (isOver || !isObject(body)) return;
  const read = cheatedRequest(dialect, body, faults);
  // A fault can make a document of a stream.
  const request = { ...read, stream: read.stream && faults.body === undefined };
  await deliverAnswer(generation, request, cheatedAnswer(request, faults));
}

/** The prompt tokens of a body, for the counting route. */
export async function answerTokenCount(generation: Generation): Promise<void> {
  const { dialect, delivery, body } = generation;
  await failEarly(delivery);
  const bounded = isObject(body) ? { max_tokens: 1, ...body } : body;
  const problem = problemOf({ ...generation, body: bounded });
  if (problem !== undefined) {
    return await deliverJson(delivery, problem.status, dialect.error(problem));
  }
  const count = Math.max(1, dialect.read(isObject(body) ? body : {}).promptTokens);
  await deliverJson(delivery, 200, { input_tokens: count });
}

/** The list of models, for callers with a good key. */
export async function answerModels(generation: Generation): Promise<void> {
  const { dialect, delivery, headers, models, createdS } = generation;
  await failEarly(delivery);
  if (await isRefused(dialect, delivery, keyProblemOf(headers, delivery.faults))) return;
  await deliverJson(delivery, 200, dialect.models(models, createdS));
}

async function deliverAnswer(
  generation: Generation,
  request: SimRequest,
  answer: SimAnswer,
): Promise<void> {
  const { dialect, delivery, serial, createdS, nextChatAnswer } = generation;
  const { faults } = delivery;
  const isSilent = request.stream && isCheating(faults, "usage-missing-in-stream");
  const envelope: Envelope = {
    serial,
    createdS,
    model: faults.model_echo ?? cheatedModel(request, faults, nextChatAnswer()),
    includeUsage: request.includeUsage,
    usage: faults.no_usage === true || isSilent ? null : (faults.usage ?? {}),
  };
  if (!request.stream) {
    return await deliverJson(delivery, 200, dialect.json(answer, envelope));
  }
  const frames = cheatedFrames(dialect.frames(answer, envelope), faults);
  const trouble = withWords(dialect.troubles.overloaded, faults);
  await deliverStream(delivery, frames, dialect.errorFrame(trouble));
}

function problemOf(generation: Generation): SimError | undefined {
  const { dialect, delivery, headers } = generation;
  return requestProblemOf(generation, (body) =>
    dialect.problemOf(cheatedBody(body, delivery.faults), headers),
  );
}
