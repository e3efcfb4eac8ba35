import { isAbsent, wordSet, type JsonObject } from "../json.ts";
import type { SimError } from "../sim-error.ts";

type Complaint = string | undefined;
/** Why a host refuses the value of one parameter. */
type Check = (value: unknown) => Complaint;

const PROMPT_CHARS_MAX = 32_000;
const SIDE_STEP = 16;
const SIDE_MAX = 3_840;
const RATIO_MAX = 3;

const common: Readonly<Record<string, Check>> = {
  model: (value) => (isText(value) ? undefined : "you must provide a model parameter"),
  prompt: promptComplaint,
  n: wholeWithin(1, 10),
  user: text,
};

const reference: Readonly<Record<string, Check>> = {
  ...common,
  size: sizeComplaint,
  quality: oneOf("low medium high xhigh max auto standard hd"),
  background: oneOf("transparent opaque auto"),
  output_format: oneOf("png jpeg webp"),
  output_compression: wholeWithin(0, 100),
  moderation: oneOf("low auto"),
  safety_identifier: text,
};

const relay: Readonly<Record<string, Check>> = {
  ...common,
  aspect_ratio: ratioComplaint,
  resolution: oneOf("512 1K 2K 4K"),
  quality: oneOf("low medium high auto"),
  background: oneOf("transparent opaque auto"),
  output_format: oneOf("png jpeg webp"),
  output_compression: wholeWithin(0, 100),
  seed: wholeWithin(0, Number.MAX_SAFE_INTEGER),
  provider: () => undefined,
};

const plain: Readonly<Record<string, Check>> = {
  ...common,
  aspect_ratio: ratioComplaint,
  resolution: oneOf("1k 2k"),
  response_format: oneOf("url b64_json"),
};

/** The reference refuses what it does not know, `response_format` and `aspect_ratio` among it. */
export function referenceImageProblem(body: JsonObject): SimError | undefined {
  return problemBy(body, reference, (key) => `Unknown parameter: '${key}'.`);
}

/** A relay of many hosts has ratios and no sizes. */
export function relayImageProblem(body: JsonObject): SimError | undefined {
  return problemBy(body, relay, (key) => `${key}: this endpoint does not take this parameter`);
}

/** This host names what it leaves out on purpose. */
export function plainImageProblem(body: JsonObject): SimError | undefined {
  return problemBy(body, plain, (key) => `Argument not supported: ${key}`);
}

function problemBy(
  body: JsonObject,
  checks: Readonly<Record<string, Check>>,
  unknown: (key: string) => string,
): SimError | undefined {
  const message =
    checks["model"]?.(body["model"]) ??
    checks["prompt"]?.(body["prompt"]) ??
    Object.entries(body)
      .filter(([, value]) => !isAbsent(value))
      .map(([key, value]) => {
        const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
        if (check === undefined) return unknown(key);
        const complaint = check(value);
        return complaint === undefined ? undefined : `Invalid '${key}': ${complaint}`;
      })
      .find((complaint) => complaint !== undefined);
  return message === undefined ? undefined : { status: 400, message, code: "invalid_value" };
}

function promptComplaint(value: unknown): Complaint {
  if (!isText(value) || value === "") return "you must provide a prompt parameter";
  return value.length > PROMPT_CHARS_MAX
    ? `Invalid 'prompt': string too long. Expected a maximum length of ${PROMPT_CHARS_MAX}.`
    : undefined;
}

function sizeComplaint(value: unknown): Complaint {
  if (value === "auto") return undefined;
  const match = /^(\d{2,5})x(\d{2,5})$/.exec(String(value));
  if (match === null) return "expected WIDTHxHEIGHT or auto";
  const [width, height] = [Number(match[1]), Number(match[2])];
  if (width % SIDE_STEP !== 0 || height % SIDE_STEP !== 0) return "sides are multiples of 16";
  if (Math.max(width, height) > SIDE_MAX) return `sides are at most ${SIDE_MAX}`;
  const isWithin = Math.max(width, height) <= RATIO_MAX * Math.min(width, height);
  return isWithin ? undefined : "the ratio is within 1:3 and 3:1";
}

function ratioComplaint(value: unknown): Complaint {
  const isRatio = value === "auto" || /^\d{1,2}(\.\d)?:\d{1,2}(\.\d)?$/.test(String(value));
  return isRatio ? undefined : "expected a ratio such as 16:9, or auto";
}

function wholeWithin(min: number, max: number): Check {
  return (value) => {
    const isWithin = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
    return isWithin ? undefined : `expected an integer from ${min} to ${max}`;
  };
}

function oneOf(words: string): Check {
  const known = wordSet(words);
  return (value) =>
    isText(value) && known.has(value) ? undefined : `expected one of: ${[...known].join(", ")}`;
}

function text(value: unknown): Complaint {
  return isText(value) ? undefined : "expected a string";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
