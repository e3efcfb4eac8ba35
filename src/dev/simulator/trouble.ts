import { isCheating } from "./cheats.ts";
import type { Faults } from "./faults.ts";
import { isObject, textOf, type JsonObject } from "./json.ts";
import type { ReceivedCall } from "./received-call.ts";
import { be, text, type Rule } from "./shape.ts";
import type { RequestHeaders, SimError } from "./sim-error.ts";

/** The same trouble in one host's own status, message and code. */
export type Troubles = Readonly<
  Record<"overloaded" | "context_overflow" | "content_filter" | "failed", SimError>
>;

/** Any key will do, and none; but a customer's own key must never reach a provider. */
export function keyProblemOf(headers: RequestHeaders, faults: Faults): SimError | undefined {
  const keys = `${String(headers["authorization"] ?? "")} ${String(headers["x-api-key"] ?? "")}`;
  const isWrong = keys.includes("invalid") && !isCheating(faults, "wrong-key-accepted");
  if (!isWrong && !keys.includes("tm_vk_")) return undefined;
  return { status: 401, message: "Incorrect API key provided", code: "invalid_api_key" };
}

/** What is wrong with a call before its order is read: its key, its body, its model. */
export function requestProblemOf(
  call: ReceivedCall,
  problemOf: (body: JsonObject) => SimError | undefined,
): SimError | undefined {
  const { headers, body, delivery, servesModel } = call;
  const keyProblem = keyProblemOf(headers, delivery.faults);
  if (keyProblem !== undefined) return keyProblem;
  if (!isObject(body)) return { status: 400, message: "the body must be a JSON object" };
  const problem = problemOf(body);
  const model = String(body["model"]);
  const isServed = servesModel(model) || isCheating(delivery.faults, "unknown-model-served");
  if (problem !== undefined || isServed) return problem;
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return { status: 404, message, code: "model_not_found" };
}

const PROMPT_CHARS_MAX = 32_000;

/** Of every request for a picture or a clip. */
export const PROMPTED: Readonly<Record<string, Rule>> = {
  "model!": text,
  "prompt!": be(`a string of 1 to ${PROMPT_CHARS_MAX} characters`, (value) => {
    const { length } = textOf(value);
    return length > 0 && length <= PROMPT_CHARS_MAX;
  }),
};

/** A refusal of hosts of pictures and clips. */
export function invalidValue(message: string | undefined): SimError | undefined {
  return message === undefined ? undefined : { status: 400, message, code: "invalid_value" };
}

/** Faults that are a provider's refusal: its own status, message and code. */
export function orderedTrouble(troubles: Troubles, faults: Faults): SimError | undefined {
  const chosen =
    faults.context_overflow === true
      ? troubles.context_overflow
      : faults.content_filter === true
        ? troubles.content_filter
        : undefined;
  if (chosen !== undefined) return withWords(chosen, faults);
  if (faults.status === undefined) return undefined;
  const message = `Simulated failure with status ${faults.status}: secret-provider-words`;
  return withWords({ status: faults.status, message }, faults);
}

/** The error as the faults word it. */
export function withWords(error: SimError, { status, message }: Faults): SimError {
  return {
    ...error,
    ...(status === undefined ? {} : { status }),
    ...(message === undefined ? {} : { message }),
  };
}
