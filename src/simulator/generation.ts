import { createHash } from "node:crypto";
import { answerTo, type SimAnswer } from "./answer.ts";
import { deliverJson, deliverStream, failEarly, type Delivery } from "./deliver.ts";
import type { Dialect, Envelope, RequestHeaders, SimError } from "./dialect.ts";
import type { Faults } from "./faults.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { SimRequest } from "./sim-request.ts";

/** One generation call, read and ready to be answered. */
export interface Generation {
  readonly dialect: Dialect;
  readonly delivery: Delivery;
  readonly headers: RequestHeaders;
  /** The parsed body; undefined when it was not JSON. */
  readonly body: unknown;
  readonly servesModel: (model: string) => boolean;
  /** Ids of the list of models. */
  readonly models: readonly string[];
  readonly serial: string;
  readonly createdS: number;
}

/** Answers a generation call as a provider would, or as its faults say. */
export async function answerGeneration(generation: Generation): Promise<void> {
  const { dialect, delivery, body } = generation;
  const { faults } = delivery;
  await failEarly(delivery);
  const problem = problemOf(generation) ?? orderedTrouble(dialect, faults);
  if (problem !== undefined || !isObject(body)) {
    const error = problem ?? { status: 400, message: "the body must be a JSON object" };
    return await deliverJson(delivery, error.status, dialect.error(error));
  }
  if (faults.error_in_200 === true) {
    return await deliverJson(
      delivery,
      200,
      dialect.error(withWords(dialect.troubles.failed, faults)),
    );
  }
  const request = dialect.read(body);
  await deliverAnswer(generation, request, answerWith(request, faults));
}

/** The prompt tokens of a body, for the counting route. */
export async function answerTokenCount(generation: Generation): Promise<void> {
  const { dialect, delivery, body } = generation;
  await failEarly(delivery);
  const problem = isObject(body)
    ? problemOf({ ...generation, body: { max_tokens: 1, ...body } })
    : { status: 400, message: "the body must be a JSON object" };
  if (problem !== undefined || !isObject(body)) {
    const error = problem ?? dialect.troubles.failed;
    return await deliverJson(delivery, error.status, dialect.error(error));
  }
  const count = Math.max(1, dialect.read(body).promptTokens);
  await deliverJson(delivery, 200, { input_tokens: count });
}

/** The list of models, for whoever has a good key. */
export async function answerModels(generation: Generation): Promise<void> {
  const { dialect, delivery, headers, models, createdS } = generation;
  await failEarly(delivery);
  const problem = keyProblemOf(headers) ?? orderedTrouble(dialect, delivery.faults);
  if (problem !== undefined) {
    return await deliverJson(delivery, problem.status, dialect.error(problem));
  }
  await deliverJson(delivery, 200, dialect.models(models, createdS));
}

/** The unique part of the ids of call `number`. */
export function serialOf(seed: string, number: number): string {
  return createHash("sha256").update(`${seed}:${number}`).digest("hex").slice(0, 24);
}

async function deliverAnswer(
  generation: Generation,
  request: SimRequest,
  answer: SimAnswer,
): Promise<void> {
  const { dialect, delivery, serial, createdS } = generation;
  const { faults } = delivery;
  const envelope: Envelope = {
    serial,
    createdS,
    model: faults.model_echo ?? request.model,
    includeUsage: request.includeUsage,
    usage: faults.no_usage === true ? null : (faults.usage ?? {}),
  };
  if (!request.stream || faults.body !== undefined) {
    return await deliverJson(delivery, 200, dialect.json(answer, envelope));
  }
  const trouble = withWords(dialect.troubles.overloaded, faults);
  await deliverStream(delivery, dialect.frames(answer, envelope), dialect.errorFrame(trouble));
}

function answerWith(request: SimRequest, faults: Faults): SimAnswer {
  const answer = answerTo(request);
  if (faults.refusal !== true) return answer;
  return { ...answer, text: "", calls: [], finish: "refusal", stopSequence: null };
}

function problemOf(generation: Generation): SimError | undefined {
  const { dialect, headers, body, servesModel } = generation;
  const keyProblem = keyProblemOf(headers);
  if (keyProblem !== undefined) return keyProblem;
  if (!isObject(body)) return { status: 400, message: "the body must be a JSON object" };
  return dialect.problemOf(body, headers) ?? modelProblemOf(body, servesModel);
}

/* Any key will do, and none; but a customer's own key must never reach a provider. */
function keyProblemOf(headers: RequestHeaders): SimError | undefined {
  const keys = `${String(headers["authorization"] ?? "")} ${String(headers["x-api-key"] ?? "")}`;
  const isForeign = keys.includes("tm_vk_") || keys.includes("invalid");
  if (!isForeign) return undefined;
  return { status: 401, message: "Incorrect API key provided", code: "invalid_api_key" };
}

function modelProblemOf(
  body: JsonObject,
  servesModel: (model: string) => boolean,
): SimError | undefined {
  const model = String(body["model"]);
  if (servesModel(model)) return undefined;
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return { status: 404, message, code: "model_not_found" };
}

/* Faults that are a provider's refusal: its own status, words and code. */
function orderedTrouble(dialect: Dialect, faults: Faults): SimError | undefined {
  const { troubles } = dialect;
  const chosen =
    faults.overloaded === true
      ? troubles.overloaded
      : faults.context_overflow === true
        ? troubles.context_overflow
        : faults.content_filter === true
          ? troubles.content_filter
          : undefined;
  if (chosen !== undefined) return withWords(chosen, faults);
  if (faults.status === undefined) return undefined;
  const message = `Simulated failure with status ${faults.status}: secret-provider-words`;
  return withWords({ status: faults.status, message }, faults);
}

function withWords(error: SimError, { status, message, code }: Faults): SimError {
  return {
    ...error,
    ...(status === undefined ? {} : { status }),
    ...(message === undefined ? {} : { message }),
    ...(code === undefined ? {} : { code }),
  };
}
