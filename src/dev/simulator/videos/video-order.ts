import { isAbsent, textOf, wordSet, type JsonObject } from "../json.ts";
import type { SimError } from "../sim-error.ts";

/** What a video request asks for. */
export interface VideoOrder {
  readonly model: string;
  readonly seconds: number;
  readonly size: string | null;
  readonly resolution: string | null;
  readonly aspectRatio: string | null;
}

const SECONDS_DEFAULT = 4;
const PROMPT_CHARS_MAX = 32_000;

/** Reads a body that has passed the checks. */
export function readVideoOrder(body: JsonObject): VideoOrder {
  return {
    model: textOf(body["model"]),
    seconds: Number(body["seconds"] ?? body["duration"] ?? SECONDS_DEFAULT),
    size: textOf(body["size"]) || null,
    resolution: textOf(body["resolution"]) || null,
    aspectRatio: textOf(body["aspect_ratio"]) || null,
  };
}

/** What a host accepts. */
export interface VideoBounds {
  /** Its fields beside those that every host has. */
  readonly fields: string;
  readonly secondsMax: number;
}

/** The first thing a host with these bounds would refuse. */
export function videoProblem(body: JsonObject, bounds: VideoBounds): SimError | undefined {
  const message = complaintOf(body, bounds);
  return message === undefined ? undefined : { status: 400, message, code: "invalid_value" };
}

function complaintOf(body: JsonObject, { fields, secondsMax }: VideoBounds): string | undefined {
  const { model, prompt, seconds, duration, generate_audio: audio } = body;
  if (typeof model !== "string") return "you must provide a model parameter";
  if (typeof prompt !== "string" || prompt === "") return "you must provide a prompt parameter";
  if (prompt.length > PROMPT_CHARS_MAX) return "Invalid 'prompt': string too long.";
  const known = wordSet("model prompt seconds", fields);
  const extra = Object.keys(body).find((key) => !isAbsent(body[key]) && !known.has(key));
  if (extra !== undefined) return `Unknown parameter: '${extra}'.`;
  if (!isSeconds(seconds, secondsMax) || !isSeconds(duration, secondsMax)) {
    return `Invalid 'seconds': expected a whole number of seconds from 1 to ${secondsMax}.`;
  }
  const size = ["size", "resolution", "aspect_ratio"].find(
    (key) => !isAbsent(body[key]) && !/^\d[\w.:]{1,15}$/.test(textOf(body[key])),
  );
  if (size !== undefined) return `Invalid '${size}'.`;
  return isAbsent(audio) || typeof audio === "boolean"
    ? undefined
    : "Invalid type for 'generate_audio': expected a boolean.";
}

/* A number, or its digits: one family of hosts writes it so. */
function isSeconds(value: unknown, secondsMax: number): boolean {
  if (isAbsent(value)) return true;
  const isWhole = Number.isSafeInteger(value) || /^\d{1,3}$/.test(textOf(value));
  return isWhole && Number(value) >= 1 && Number(value) <= secondsMax;
}
