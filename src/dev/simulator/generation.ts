import { answerTo } from "./answer.ts";
import type { ChatReply } from "./cheat.ts";
import { deliverJson, deliverStream, failEarly } from "./deliver.ts";
import type { Dialect, Envelope } from "./dialect.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { ReceivedCall } from "./received-call.ts";
import type { SimError } from "./sim-error.ts";
import { isRefused, findKeyProblem, findRequestProblem, withWords } from "./trouble.ts";

export interface Generation extends ReceivedCall {
  readonly dialect: Dialect;
}

export async function answerGeneration(generation: Generation): Promise<void> {
  const { dialect, delivery, body } = generation;
  const { faults } = delivery;
  await failEarly(delivery);
  const isOver = await isRefused(dialect, delivery, findProblem(generation));
  if (isOver || !isObject(body)) return;
  const read = dialect.read(body);
  // With the fault `body`, a client that requested a stream gets one whole document instead.
  const request = { ...read, stream: read.stream && faults.body === undefined };
  const { kept } = generation;
  const asked = { dialect, body, request, number: generation.nextChatAnswer(), kept };
  const honest = { request, answer: answerTo(request), model: request.model };
  await deliverAnswer(generation, faults.cheat?.chat?.(asked) ?? honest);
}

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

export async function answerModels(generation: Generation): Promise<void> {
  const { dialect, delivery, headers, models, createdS } = generation;
  await failEarly(delivery);
  if (await isRefused(dialect, delivery, findKeyProblem(headers, delivery.faults))) return;
  await deliverJson(delivery, 200, dialect.models(models, createdS));
}

async function deliverAnswer(generation: Generation, reply: ChatReply): Promise<void> {
  const { dialect, delivery, serial, createdS } = generation;
  const { request, answer, model, hidesUsage = false } = reply;
  const { faults } = delivery;
  const envelope: Envelope = {
    serial,
    createdS,
    model: faults.model_echo ?? model,
    includeUsage: request.includeUsage,
    usage: faults.no_usage === true || hidesUsage ? null : (faults.usage ?? {}),
  };
  if (!request.stream) {
    const json = dialect.json(answer, envelope);
    return await deliverJson(delivery, 200, reply.json?.(json) ?? json);
  }
  const frames = dialect.frames(answer, envelope);
  const trouble = withWords(dialect.troubles.overloaded, faults);
  await deliverStream(delivery, reply.frames?.(frames) ?? frames, dialect.errorFrame(trouble));
}

function findProblem(generation: Generation): SimError | undefined {
  const { dialect, delivery, headers } = generation;
  const { readBody = (body: JsonObject) => body } = delivery.faults.cheat ?? {};
  return findRequestProblem(generation, (body) => dialect.findProblem(readBody(body), headers));
}
