import type { Faults } from "./faults.ts";
import type { JsonObject } from "./json.ts";
import type { RequestHeaders, SimError } from "./sim-error.ts";

/** The same trouble in one host's own status, message and code. */
export type Troubles = Readonly<
  Record<"overloaded" | "context_overflow" | "content_filter" | "failed", SimError>
>;

/** Any key will do, and none; but a customer's own key must never reach a provider. */
export function keyProblemOf(headers: RequestHeaders): SimError | undefined {
  const keys = `${String(headers["authorization"] ?? "")} ${String(headers["x-api-key"] ?? "")}`;
  const isForeign = keys.includes("tm_vk_") || keys.includes("invalid");
  if (!isForeign) return undefined;
  return { status: 401, message: "Incorrect API key provided", code: "invalid_api_key" };
}

export function modelProblemOf(
  body: JsonObject,
  servesModel: (model: string) => boolean,
): SimError | undefined {
  const model = String(body["model"]);
  if (servesModel(model)) return undefined;
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return { status: 404, message, code: "model_not_found" };
}

/** Faults that are a provider's refusal: its own status, message and code. */
export function orderedTrouble(troubles: Troubles, faults: Faults): SimError | undefined {
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

/** The error as the faults word it. */
export function withWords(error: SimError, { status, message, code }: Faults): SimError {
  return {
    ...error,
    ...(status === undefined ? {} : { status }),
    ...(message === undefined ? {} : { message }),
    ...(code === undefined ? {} : { code }),
  };
}
