import { deliverJson, type Delivery } from "./deliver.ts";
import type { Faults } from "./faults.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { ReceivedCall } from "./received-call.ts";
import type { ErrorWriter, RequestHeaders, SimError, Troubles } from "./sim-error.ts";

/**
 * Refuses a key that contains `invalid`, and a virtual key, which a gateway must never send to a
 * provider. Accepts every other key, and a request without a key.
 */
export function findKeyProblem(
  headers: RequestHeaders,
  faults: Faults,
  isStream = false,
): SimError | undefined {
  const keys = `${String(headers["authorization"] ?? "")} ${String(headers["x-api-key"] ?? "")}`;
  const isAccepted = faults.cheat?.acceptsWrongKey?.(isStream) === true;
  const isWrong = keys.includes("invalid") && !isAccepted;
  if (!isWrong && !keys.includes("tm_vk_")) return undefined;
  return { status: 401, message: "Incorrect API key provided", code: "invalid_api_key" };
}

export function findRequestProblem(
  call: ReceivedCall,
  findProblem: (body: JsonObject) => SimError | undefined,
): SimError | undefined {
  const { headers, body, delivery, servesModel } = call;
  const isStream = isObject(body) && body["stream"] === true;
  const keyProblem = findKeyProblem(headers, delivery.faults, isStream);
  if (keyProblem !== undefined) return keyProblem;
  if (!isObject(body)) return { status: 400, message: "the body must be a JSON object" };
  const problem = findProblem(body);
  const model = String(body["model"]);
  const isServed =
    servesModel(model) || delivery.faults.cheat?.servesUnknownModel?.(isStream) === true;
  if (problem !== undefined || isServed) return problem;
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return { status: 404, message, code: "model_not_found" };
}

/** Refuses a call with a `problem` or with a fault that asks for a refusal; else returns false. */
export async function isRefused(
  host: { readonly error: ErrorWriter; readonly troubles: Troubles },
  delivery: Delivery,
  problem: SimError | undefined,
  okStatus: number = 200,
): Promise<boolean> {
  const { faults } = delivery;
  const isIn200 = faults.error_in_200 === true;
  const hidden = isIn200 ? withWords(host.troubles.failed, faults) : undefined;
  const error = problem ?? orderedTrouble(host.troubles, faults) ?? hidden;
  if (error === undefined) return false;
  await deliverJson(delivery, isIn200 ? okStatus : error.status, host.error(error));
  return true;
}

export function orderedTrouble(troubles: Troubles, faults: Faults): SimError | undefined {
  const { overloaded = { status: 503, message: "The engine is currently overloaded" } } = troubles;
  if (faults.overloaded === true) return withWords(overloaded, faults);
  if (faults.context_overflow === true) return withWords(troubles.context_overflow, faults);
  if (faults.content_filter === true) return withWords(troubles.content_filter, faults);
  if (faults.status === undefined) return undefined;
  const message = `Simulated failure with status ${faults.status}: secret-provider-words`;
  return withWords({ status: faults.status, message }, faults);
}

export function withWords(error: SimError, { status, message }: Faults): SimError {
  return { ...error, ...(status !== undefined && { status }), ...(message && { message }) };
}
