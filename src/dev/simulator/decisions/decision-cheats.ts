import { isCheating, type Cheating } from "../cheats.ts";
import { isObject, textOf, type JsonObject } from "../json.ts";
import type { Decided } from "./decision-host.ts";
import { rounded } from "./decision-order.ts";

const SUM = 1.4;

/** The body as it is read: images are all the same to a host that ignores them. */
export function cheatedDecisionBody(body: JsonObject, cheating: Cheating): JsonObject {
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
export function cheatedDecision(decided: Decided, cheating: Cheating): Decided {
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
