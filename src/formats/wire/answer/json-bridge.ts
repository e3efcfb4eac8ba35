import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";

import {
  ANSWER_BYTES_MAX,
  HeldBytes,
  JsonBudget,
  type Refusal,
  valueEndIn,
} from "../../../kernel/index.ts";
import { classifyEmbeddedError } from "../failure/classify-failure.ts";
import {
  failedRead,
  FINAL,
  hasError,
  unblamedFailure,
  unusableFailure,
  type ReadAnswer,
  type UpstreamFailure,
} from "../failure/failures.ts";
import {
  type AnswerJson,
  decodeBody,
  parseObject,
  type ReadyAnswer,
} from "../neutral/chat-answer.ts";
import { type AnswerBridge, BaseBridge, type ServedModelNote } from "./answer-bridge.ts";

export interface JsonBridgeOptions {
  /** Fails if the answer is unusable, or if the client's wire cannot express it. */
  readonly read: (json: AnswerJson) => ReadAnswer<ReadyAnswer>;
  readonly note: ServedModelNote;
  readonly renderError: (refusal: Refusal) => string;
  /** Maximum size of the body. Default: `ANSWER_BYTES_MAX`. */
  readonly bytesMax?: number;
  /** Default: `classifyEmbeddedError`. Undefined: a body with `error` is still an answer. */
  readonly classifyError?: (body: Readonly<Record<string, unknown>>) => UpstreamFailure | undefined;
}

/** Checks the whole body of the provider, and returns the client's body once the cost is known. */
export class JsonBridge extends BaseBridge implements AnswerBridge {
  readonly #options: JsonBridgeOptions;
  #held = new HeldBytes();
  #answer: ReadyAnswer | undefined;
  #isClosed = false;

  constructor(options: JsonBridgeOptions) {
    super(options.note);
    this.#options = options;
  }

  get facts(): ReadyAnswer | undefined {
    return this.#answer;
  }

  push(bytes: Buffer): void {
    if (this.state !== "waiting") return;
    this.#held.add(bytes);
    const { bytesMax = ANSWER_BYTES_MAX } = this.#options;
    if (this.#held.length > bytesMax) this.#conclude(TOO_LARGE);
  }

  end(): void {
    if (this.state !== "waiting") return;
    this.#conclude(readBody(this.#held.joined(), this.#options));
  }

  finish(costUsd: string): string {
    if (this.#isClosed || this.state !== "complete") return "";
    this.#isClosed = true;
    return this.#answer?.bodyText(costUsd) ?? "";
  }

  fail(refusal: Refusal): string {
    if (this.#isClosed) return "";
    this.#isClosed = true;
    this.failure ??= { refusal, ...FINAL };
    return this.#options.renderError(refusal);
  }

  #conclude(result: ReadAnswer<ReadyAnswer>): void {
    this.#held = new HeldBytes();
    if (result.ok) this.#answer = result;
    else this.failure = result.failure;
  }
}

const UNUSABLE = failedRead(unusableFailure());
const TOO_LARGE = failedRead(unblamedFailure());

function readBody(
  body: Buffer,
  { read, note, classifyError = classifyEmbeddedError }: JsonBridgeOptions,
): ReadAnswer<ReadyAnswer> {
  const json = parseAnswer(body);
  if (!json.ok) return json;
  const { value } = json;
  note.take(value["model"]);
  const failure = hasError(value["error"]) ? classifyError(value) : undefined;
  if (failure !== undefined) return failedRead(failure);
  const ready = read(json);
  return ready.ok
    ? { ...ready, bodyText: (costUsd) => json.restored(ready.bodyText(costUsd)) }
    : ready;
}

/** A parsed body. Large log probabilities are cut out, because the gateway never reads them. */
export interface ParsedAnswer extends AnswerJson {
  /** Puts the log probabilities back into an answer that was made from `text`. */
  readonly restored: (made: string) => string;
}

function parseAnswer(body: Buffer): ReadAnswer<ParsedAnswer> {
  if (!isUtf8(body)) return UNUSABLE;
  const text = decodeBody(body);
  if (new JsonBudget().allows(text)) return parseRestored(text, (made) => made);
  const part = logprobsIn(body);
  if (part === undefined) return TOO_LARGE;
  const { start, end } = part;
  const mark = JSON.stringify(randomUUID());
  const rest = decodeBody(body.subarray(0, start)) + mark + body.toString("utf8", end);
  // Finding the log probabilities took most of the time that one answer may take, so fewer values
  // are allowed in the rest.
  if (!new JsonBudget(REST_VALUES_MAX).allows(rest)) return TOO_LARGE;
  return parseRestored(rest, (made) => made.replace(mark, () => body.toString("utf8", start, end)));
}

function parseRestored(text: string, restored: ParsedAnswer["restored"]): ReadAnswer<ParsedAnswer> {
  const json = parseObject(text);
  return json === undefined ? UNUSABLE : { ok: true, ...json, restored };
}

/** Finds the first `logprobs` object: parsing its many values would block other requests. */
function logprobsIn(body: Buffer): { readonly start: number; readonly end: number } | undefined {
  let at = body.indexOf(KEY);
  for (let tries = 0; at !== -1 && tries < TRIES_MAX; tries += 1) {
    const near = body.toString("latin1", at - 1, at + KEY.length + BLANKS_MAX);
    // A `"logprobs"` inside a JSON string does not match, because its quotes are escaped.
    const found = /^[^\\]"logprobs"\s*:\s*(?=\{)/.exec(near);
    if (found !== null) {
      const start = at - 1 + found[0].length;
      const end = valueEndIn(body.subarray(0, start + PART_BYTES_MAX), start);
      return end === undefined ? undefined : { start, end };
    }
    at = body.indexOf(KEY, at + KEY.length);
  }
  return undefined;
}

/** The most output tokens of an unstreamed answer if each token has `entries` log probabilities. */
export function logprobTokensMax(entries: number): number {
  return Math.floor(PART_BYTES_MAX / (entries * ENTRY_BYTES));
}

const KEY = '"logprobs"';
const BLANKS_MAX = 100;
/** Maximum matches that are tried: the first can be `"logprobs":null` or the end of a string. */
const TRIES_MAX = 16;
/** Maximum bytes of the log probabilities, enough for 4,700 tokens with 20 alternatives each. */
const PART_BYTES_MAX = 8_000_000;
/** Usual bytes of one log-probability entry. */
const ENTRY_BYTES = 80;
const REST_VALUES_MAX = 50_000;
