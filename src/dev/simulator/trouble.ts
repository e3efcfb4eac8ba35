import { isCheating } from "./cheats.ts";
import type { Faults } from "./faults.ts";
import type { JsonObject } from "./json.ts";
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

/** A call as far as it says which model it wants. */
interface ModelCall {
  readonly delivery: { readonly faults: Faults };
  readonly servesModel: (model: string) => boolean;
}

export function modelProblemOf(
  body: JsonObject,
  { servesModel, delivery }: ModelCall,
): SimError | undefined {
  const model = String(body["model"]);
  const isServed = servesModel(model) || isCheating(delivery.faults, "unknown-model-served");
  if (isServed) return undefined;
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
