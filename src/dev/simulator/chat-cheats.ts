import { answerTo, type SimAnswer } from "./answer.ts";
import { listEffects, isCheating, type Cheating } from "./cheating.ts";
import type { Dialect, Frame } from "./dialect.ts";
import type { JsonObject } from "./json.ts";
import type { SimRequest } from "./sim-request.ts";
import { TEXT_CHEATS } from "./text-cheats.ts";
import { type Asked, hasTraits, type TextEffect } from "./text-effects.ts";

/** The body as it is checked: a provider that clamps accepts what is out of range. */
export function cheatedBody(body: JsonObject, cheating: Cheating): JsonObject {
  if (!isCheating(cheating, "out-of-range-clamped")) return body;
  // No range is narrower than this one, and an answer does not depend on these values.
  const clamped = ["temperature", "top_p", "frequency_penalty", "presence_penalty"].flatMap(
    (key) =>
      typeof body[key] === "number" ? [[key, Math.min(1, Math.max(0, body[key]))] as const] : [],
  );
  return { ...body, ...Object.fromEntries(clamped) };
}

/** One call as a provider that cheats sees it. */
export interface CheatedCall {
  readonly request: SimRequest;
  readonly answer: SimAnswer;
  readonly model: string;
  readonly frames: (frames: readonly Frame[]) => readonly Frame[];
  readonly json: (json: JsonObject) => JsonObject;
}

/**
 * A body that has passed the checks, read and answered. `number` counts the answers of the
 * simulator; `kept` has what it keeps for later ones.
 */
export function cheatedCall(
  dialect: Pick<Dialect, "read">,
  body: JsonObject,
  by: Cheating & {
    readonly isStream: (request: SimRequest) => boolean;
    readonly number: number;
    readonly kept: Map<string, unknown>;
  },
): CheatedCall {
  const read = dialect.read(body);
  const plain = { ...read, stream: by.isStream(read) };
  const asked: Asked = { body, request: plain };
  const effects = listEffects<TextEffect>(by, TEXT_CHEATS).filter(
    ({ when = "", every = 1, after = 0 }) =>
      by.number % every === 0 && by.number >= after && hasTraits(when, asked),
  );
  const request = effects.reduce((seen, { read: change, request: adapt }) => {
    const { promptTokens, cacheMarkedTokens, hourMarkedTokens } = plain;
    const honest = { promptTokens, cacheMarkedTokens, hourMarkedTokens, stream: plain.stream };
    const changed = change === undefined ? seen : { ...dialect.read(change(body)), ...honest };
    return adapt === undefined ? changed : adapt(changed);
  }, plain);
  const said = effects.reduce((answer, effect) => {
    const told = { body, request };
    const own = effect.answer?.(answer, told) ?? answer;
    const usage = { ...own.usage, ...effect.usage?.(own.usage, told) };
    return replayed({ ...own, usage }, effect.replay?.(asked) ?? "", by.kept);
  }, answerTo(request));
  const name = effects.findLast(({ model }) => model !== undefined)?.model ?? "*";
  return {
    request,
    answer: said,
    model: name.replace("*", request.model),
    frames: (frames) => {
      const changed = effects.reduce((left, effect) => effect.frames?.(left) ?? left, frames);
      return changed.map((frame) => ({ ...frame, data: changedText(frame.data, effects) }));
    },
    json: (json) => JSON.parse(changedText(JSON.stringify(json), effects)) as JsonObject,
  };
}

function changedText(text: string, effects: readonly TextEffect[]): string {
  return effects.reduce((left, effect) => effect.json?.(left) ?? left, text);
}

/** With the text and the calls of the first answer of this key; the tokens of the prompt are true. */
function replayed(answer: SimAnswer, key: string, kept: Map<string, unknown>): SimAnswer {
  if (key === "") return answer;
  const first = kept.get(key) as SimAnswer | undefined;
  if (first === undefined) {
    kept.set(key, answer);
    return answer;
  }
  const { output, reasoning } = first.usage;
  return { ...first, usage: { ...answer.usage, output, reasoning } };
}
