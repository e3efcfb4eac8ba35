import { type Cheating, isCheating } from "../cheats.ts";
import { deliverJson, failEarly } from "../deliver.ts";
import type { Faults } from "../faults.ts";
import type { SimError } from "../host-errors.ts";
import { isObject, type JsonObject, textOf } from "../json.ts";
import type { ReceivedCall } from "../received-call.ts";
import { isRefused, orderedTrouble, requestProblemOf } from "../trouble.ts";
import type { Decided, DecisionHost } from "./decision-host.ts";
import { rounded } from "./decision-order.ts";
import { envelopeCode, envelopeError, inEnvelope, scriptedEnvelope } from "./envelope.ts";
import { unprocessable } from "./systemone.ts";

/** Answers typed questions as this kind of host does, or as the faults of the call say. */
export async function answerDecisions(host: DecisionHost, call: ReceivedCall): Promise<void> {
  const { delivery } = call;
  const { faults } = delivery;
  await failEarly(delivery);
  const scripted = host.hasEnvelope ? scriptedEnvelope(faults.envelope ?? {}) : undefined;
  if (scripted !== undefined) return await deliverJson(delivery, scripted.status, scripted.json);
  const ordered = orderedTrouble(host.troubles, faults);
  const decided = ordered ?? decide(host, call);
  const problem = "status" in decided ? decided : undefined;
  if ((await isRefused(host, delivery, problem)) || "status" in decided) return;
  const { no_usage: noUsage, usage = {} } = faults;
  const said = withFaults(cheatedDecision(decided, faults), faults);
  const body = host.answer(said, noUsage === true ? null : usage);
  const enveloped = host.hasEnvelope ? inEnvelope(body, faults.envelope ?? {}) : body;
  await deliverJson(delivery, 200, enveloped);
}

/** Any other path of the host with the envelope. */
export async function answerNoRoute({ delivery }: ReceivedCall): Promise<void> {
  await failEarly(delivery);
  const error = envelopeCode(7000);
  await deliverJson(delivery, error.status, envelopeError(error));
}

function decide(host: DecisionHost, call: ReceivedCall): Decided | SimError {
  const { body, bodyBytes, delivery } = call;
  const problem = requestProblemOf(call, ({ model }) => {
    const early = host.bodyProblem(bodyBytes);
    return early ?? (typeof model === "string" ? undefined : unprocessable("model: required"));
  });
  return problem ?? host.decide(cheatedDecisionBody(isObject(body) ? body : {}, delivery.faults));
}

function withFaults(decided: Decided, faults: Faults): Decided {
  const { missing_answer: missing, extra_answer: extra, answers, model_echo: model } = faults;
  const all: JsonObject = { ...decided.answers, ...answers };
  const left = missing === undefined ? undefined : missing || Object.keys(all)[0];
  const kept = Object.entries(all).filter(([id]) => id !== left);
  const surprise = { type: "noul", noul: 0.5 };
  return {
    ...decided,
    model: model ?? decided.model,
    answers: Object.fromEntries(
      extra === true ? [...kept, ["nobody_asked", surprise] as const] : kept,
    ),
  };
}

const SUM = 1.4;

/** The body as it is read: images are all the same to a host that ignores them. */
function cheatedDecisionBody(body: JsonObject, cheating: Cheating): JsonObject {
  return isCheating(cheating, "image-ignored") ? fieldsWithoutPictures(body) : body;
}

function fieldsWithoutPictures(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withoutPictures(inner)]),
  );
}

function withoutPictures(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPictures);
  if (!isObject(value)) return value;
  const { type, image_url: image } = value;
  if (type !== "image_url" || !isObject(image)) return fieldsWithoutPictures(value);
  // What comes before the comma says whether the host takes it at all.
  const url = textOf(image["url"]).replace(/,.*$/s, ",AAAA");
  return { type, image_url: { url } };
}

/** What is decided and reported. */
function cheatedDecision(decided: Decided, cheating: Cheating): Decided {
  const isCounted = isCheating(cheating, "decision-state-per-question");
  const isOff = isCheating(cheating, "decision-probabilities-off");
  return {
    ...decided,
    inputTokens: decided.inputTokens + (isCounted ? decided.stateTokensSaved : 0),
    answers: isOff ? inflated(decided.answers) : decided.answers,
  };
}

function inflated(answers: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(answers).map(([id, answer]) => {
      const likely = isObject(answer) ? answer["probabilities"] : undefined;
      if (!isObject(answer) || !isObject(likely)) return [id, answer];
      return [id, { ...answer, probabilities: withSum(likely) }];
    }),
  );
}

/*
 * Each is multiplied, and none is above 1: what the first of them would have above it goes to the
 * second. Their order, and so the choice, stays.
 */
function withSum(likely: JsonObject): JsonObject {
  const scaled = Object.entries(likely)
    .map(([label, value]) => ({ label, value: Number(value) * SUM }))
    .toSorted((one, other) => other.value - one.value);
  const above = Math.max(0, (scaled[0]?.value ?? 0) - 1);
  const moved = new Map(
    scaled.map(({ label, value }, at) => [
      label,
      rounded(at === 0 ? value - above : at === 1 ? value + above : value),
    ]),
  );
  return Object.fromEntries(Object.keys(likely).map((label) => [label, moved.get(label)]));
}
