import { cheatedBody, cheatedCall, type CheatedCall } from "./chat-cheats.ts";
import { isCheating } from "./cheating.ts";
import { deliverJson, deliverStream, failEarly } from "./deliver.ts";
import type { Dialect, Envelope } from "./dialect.ts";
import { isObject } from "./json.ts";
import type { ReceivedCall } from "./received-call.ts";
import type { SimError } from "./sim-error.ts";
import { isRefused, findKeyProblem, findRequestProblem, withWords } from "./trouble.ts";

/** A call of one of the chat wires. */
export interface Generation extends ReceivedCall {
  readonly dialect: Dialect;
}

/** Answers a generation call as a provider would, or as its faults say. */
export async function answerGeneration(generation: Generation): Promise<void> {
  const { dialect, delivery, body } = generation;
  const { faults } = delivery;
  await failEarly(delivery);
  const isOver = await isRefused(dialect, delivery, findProblem(generation));
  if (isOver || !isObject(body)) return;
  const call = cheatedCall(dialect, body, {
    ...faults,
    // A fault can make a document of a stream.
    isStream: ({ stream }) => stream && faults.body === undefined,
    number: generation.nextChatAnswer(),
    kept: generation.kept,
  });
  await deliverAnswer(generation, call);
}

/** The prompt tokens of a body, for the counting route. */
export async function answerTokenCount(generation: Generation): Promise<void> {
  const { dialect, delivery, body } = generation;
  await failEarly(delivery);
  const bounded = isObject(body) ? { max_tokens: 1, ...body } : body;
  const problem = findProblem({ ...generation, body: bounded });
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
  if (await isRefused(dialect, delivery, findKeyProblem(headers, delivery.faults))) return;
  await deliverJson(delivery, 200, dialect.models(models, createdS));
}

async function deliverAnswer(generation: Generation, call: CheatedCall): Promise<void> {
  const { dialect, delivery, serial, createdS } = generation;
  const { request, answer, model } = call;
  const { faults } = delivery;
  const isSilent = request.stream && isCheating(faults, "usage-missing-in-stream");
  const envelope: Envelope = {
    serial,
    createdS,
    model: faults.model_echo ?? model,
    includeUsage: request.includeUsage,
    usage: faults.no_usage === true || isSilent ? null : (faults.usage ?? {}),
  };
  if (!request.stream) {
    return await deliverJson(delivery, 200, call.json(dialect.json(answer, envelope)));
  }
  const frames = call.frames(dialect.frames(answer, envelope));
  const trouble = withWords(dialect.troubles.overloaded, faults);
  await deliverStream(delivery, frames, dialect.errorFrame(trouble));
}

function findProblem(generation: Generation): SimError | undefined {
  const { dialect, delivery, headers } = generation;
  return findRequestProblem(generation, (body) =>
    dialect.problemOf(cheatedBody(body, delivery.faults), headers),
  );
}
