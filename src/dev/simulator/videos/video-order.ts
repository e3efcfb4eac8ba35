import { textOf } from "../../../kernel/index.ts";
import { type JsonObject } from "../json.ts";
import { PROMPTED } from "../media-requests.ts";
import { be, matching, type Rule } from "../shape.ts";

export interface VideoOrder {
  readonly model: string;
  readonly prompt: string;
  readonly seconds: number;
  readonly size: string | null;
}

const SECONDS_DEFAULT = 4;

/** Reads a body that has passed the provider's checks, without checking its fields again. */
export function readVideoOrder(body: JsonObject): VideoOrder {
  return {
    model: textOf(body["model"]),
    prompt: textOf(body["prompt"]),
    seconds: Number(body["seconds"] ?? body["duration"] ?? SECONDS_DEFAULT),
    size: textOf(body["size"]) || null,
  };
}

export function clipFields(secondsMax: number): Readonly<Record<string, Rule>> {
  return { ...PROMPTED, seconds: secondsUpTo(secondsMax) };
}

/* Accepts seconds as a number, or as a string of its digits, as some video providers do. */
export function secondsUpTo(secondsMax: number): Rule {
  return be(`a whole number of seconds from 1 to ${secondsMax}`, (value) => {
    const isWhole = Number.isSafeInteger(value) || /^\d{1,3}$/.test(textOf(value));
    return isWhole && Number(value) >= 1 && Number(value) <= secondsMax;
  });
}

export const measure: Rule = matching(/^\d[\w.:]{1,15}$/);
