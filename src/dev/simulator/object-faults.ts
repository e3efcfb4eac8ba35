import { isObject, type JsonObject } from "./json.ts";

/** What is wrong with the images of an answer. */
export interface ImageFault {
  /** Images in the answer, whatever was asked for. */
  readonly count?: number;
  /** Each image is padded to so many bytes before base64. */
  readonly bytes?: number;
  readonly url_only?: true;
  readonly bad_base64?: true;
  readonly not_an_image?: true;
  readonly empty?: true;
  readonly no_usage?: true;
  /** In USD, digit for digit; null: none is reported. */
  readonly cost?: string | null;
  /** No images; moderation took them. */
  readonly moderation_flag?: true;
}

/** How a video job goes, and what goes wrong with the calls about it. */
export interface JobFault {
  /** In order; the create shows the first, each poll one more. */
  readonly states?: readonly string[];
  /** After the last of them. */
  readonly final?: string;
  readonly never?: true;
  /** Each state lasts so long, independent of polls. */
  readonly ms?: number;
  readonly code?: string;
  readonly message?: string;
  readonly moderated?: true;
  /** In USD, digit for digit; null: none is reported. */
  readonly cost?: string | null;
  /** Seconds after the create when the file is gone. */
  readonly expires?: number;
  readonly bytes?: number;
  readonly no_content?: true;
  /** Fault scripts of the polls (the first `poll_times` of them), of the file and of cancels. */
  readonly poll?: string;
  readonly poll_times?: number;
  readonly content?: string;
  readonly cancel?: string;
}

/** What is wrong with the envelope of an answer. */
export interface EnvelopeFault {
  readonly success?: boolean;
  readonly code?: number;
  readonly status?: number;
  readonly message?: string;
  readonly nested?: true;
  readonly bare?: true;
  readonly empty?: true;
}

type Check = (value: unknown) => boolean;

const isTrue: Check = (value) => value === true;
const isText: Check = (value) => typeof value === "string";
const isWhole: Check = (value) => Number.isSafeInteger(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isAmount: Check = (value) => value === null || isText(value) || typeof value === "number";
const areTexts: Check = (value) => Array.isArray(value) && value.every(isText);

const IMAGE: Readonly<Record<keyof ImageFault, Check>> = {
  count: isCount,
  bytes: isCount,
  url_only: isTrue,
  bad_base64: isTrue,
  not_an_image: isTrue,
  empty: isTrue,
  no_usage: isTrue,
  cost: isAmount,
  moderation_flag: isTrue,
};

const ENVELOPE: Readonly<Record<keyof EnvelopeFault, Check>> = {
  success: (value) => typeof value === "boolean",
  code: isWhole,
  status: (value) => isWhole(value) && Number(value) >= 200 && Number(value) <= 599,
  message: isText,
  nested: isTrue,
  bare: isTrue,
  empty: isTrue,
};

/** `image:{…}`; undefined when it is not understood. */
export function readImageFault(value: JsonObject | undefined): ImageFault | undefined {
  return readFields<ImageFault>(value, IMAGE);
}

/** `envelope:{…}`; undefined when it is not understood. */
export function readEnvelopeFault(value: JsonObject | undefined): EnvelopeFault | undefined {
  return readFields<EnvelopeFault>(value, ENVELOPE);
}

/** `job:{…}`; undefined when it, or a script in it, is not understood. */
export function readJobFault(
  value: JsonObject | undefined,
  isScript: (script: string) => boolean,
): JobFault | undefined {
  const script: Check = (text) => typeof text === "string" && isScript(text);
  const job: Readonly<Record<keyof JobFault, Check>> = {
    states: areTexts,
    final: isText,
    never: isTrue,
    ms: isCount,
    code: isText,
    message: isText,
    moderated: isTrue,
    cost: isAmount,
    expires: isWhole,
    bytes: isCount,
    no_content: isTrue,
    poll: script,
    poll_times: isCount,
    content: script,
    cancel: script,
  };
  return readFields<JobFault>(value, job);
}

/* An amount given as a number is kept as its text: it is only ever written again. */
function readFields<T extends object>(
  value: JsonObject | undefined,
  checks: Readonly<Record<keyof T & string, Check>>,
): T | undefined {
  if (!isObject(value)) return undefined;
  const known: Readonly<Record<string, Check>> = checks;
  const isGood = Object.entries(value).every(
    ([key, field]) => Object.hasOwn(known, key) && known[key]?.(field) === true,
  );
  if (!isGood) return undefined;
  const { cost } = value;
  const amount = typeof cost === "number" ? { cost: String(cost) } : {};
  return { ...value, ...amount } as T;
}
