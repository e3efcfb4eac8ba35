import { answerTo, type SimAnswer } from "../../../src/dev/simulator/answer.ts";
import type { Cheat, ChatReply } from "../../../src/dev/simulator/cheat.ts";
import type { JsonObject } from "../../../src/dev/simulator/json.ts";
import { type Asked, hasTraits, type TextEffect } from "./text-effects.ts";

export function playText(effect: TextEffect): NonNullable<Cheat["chat"]> {
  return ({ dialect, body, request: plain, number, kept }): ChatReply => {
    const { when = "", every = 1, after = 0 } = effect;
    const isMeant = hasTraits(when, { body, request: plain });
    if (!isMeant || number % every !== 0 || number < after) {
      return { request: plain, answer: answerTo(plain), model: plain.model };
    }
    const { promptTokens, cacheMarkedTokens, hourMarkedTokens, stream } = plain;
    // The model reads another prompt, but the usage counts the real one.
    const honest = { promptTokens, cacheMarkedTokens, hourMarkedTokens, stream };
    const { read } = effect;
    const seen = read === undefined ? plain : { ...dialect.read(read(body)), ...honest };
    const request = effect.request?.(seen) ?? seen;
    const asked: Asked = { body, request };
    const truth = answerTo(request);
    const own = effect.answer?.(truth, asked) ?? truth;
    const usage = { ...own.usage, ...effect.usage?.(own.usage, asked) };
    const key = effect.replay?.({ body, request: plain }) ?? "";
    return {
      request,
      answer: replayed({ ...own, usage }, key, kept),
      model: (effect.model ?? "*").replace("*", request.model),
      frames: (frames) => {
        const changed = effect.frames?.(frames) ?? frames;
        return changed.map((frame) => ({
          ...frame,
          data: effect.json?.(frame.data) ?? frame.data,
        }));
      },
      json: (json) => {
        const text = effect.json?.(JSON.stringify(json));
        return text === undefined ? json : (JSON.parse(text) as JsonObject);
      },
    };
  };
}

/** Returns the first answer with this key, but with the prompt tokens of the present request. */
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
