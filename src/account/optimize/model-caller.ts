import { type Output, SseReader } from "../../formats/index.ts";
import type { InProcessEnd, InProcessRequest } from "../../gateway/index.ts";
import {
  asObject,
  type Clock,
  type MicroUsd,
  type Refusal,
  RETRY_AFTER_SECONDS_MAX,
  textOf,
  unreachable,
} from "../../kernel/index.ts";

const CALL_TIMEOUT_MS = 480_000;
const DEFAULT_WAIT_SECONDS = 2;

export interface CallWanted {
  readonly key: string;
  readonly modelId: string;
  readonly prompt: string;
  readonly maxTokens: number;
}

export interface EndedCall {
  readonly kind: "ended";
  readonly isAnswered: boolean;
  readonly text: string;
  readonly costMicroUsd: MicroUsd;
  readonly firstByteMs: number | null;
  /** Null if no try of the call was sent and answered in time. */
  readonly totalMs: number | null;
}

export type CallOutcome =
  | EndedCall
  /** The call was refused for now: a limit was reached, or the gateway answered 503. */
  | { readonly kind: "wait"; readonly waitMs: number }
  /** The rest of a cap or of the balance does not cover the highest cost of this call. */
  | { readonly kind: "uncovered"; readonly by: "budget" | "organization" }
  /** The search cannot go on; `message` tells people why. */
  | { readonly kind: "unusable"; readonly message: string }
  | { readonly kind: "unreachable" };

export interface ModelCaller {
  /** Makes one streamed chat call. Never rejects; an aborted call is `unreachable`. */
  ask(wanted: CallWanted, signal: AbortSignal): Promise<CallOutcome>;
}

/** `call` must answer in the streamed chat format that `AnswerReader` reads. */
export function openModelCaller(
  call: (request: InProcessRequest) => Promise<InProcessEnd>,
  clock: Clock,
): ModelCaller {
  return {
    ask: async (wanted, signal) => {
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]);
      if (inTime.aborted) return UNREACHABLE;
      // After an abort the call continues until it is settled; the search does not wait for it.
      const left = new Promise<CallOutcome>((resolve) => {
        inTime.addEventListener("abort", () => resolve(UNREACHABLE), { once: true });
      });
      const startedMs = clock.monotonicMs();
      const reader = new AnswerReader();
      let firstByteMs: number | null = null;
      const ended = call({
        key: wanted.key,
        route: ROUTE,
        body: buildBody(wanted),
        signal: inTime,
        onOutput: (output) => {
          firstByteMs ??= Math.round(clock.monotonicMs() - startedMs);
          reader.push(output);
        },
      });
      const outcome = ended.then((end) => {
        const totalMs = Math.round(clock.monotonicMs() - startedMs);
        return toCallOutcome(end, reader.answer, { firstByteMs, totalMs });
      });
      return await Promise.race([outcome, left]);
    },
  };
}

const ROUTE = "/v1/chat/completions";
const UNREACHABLE: CallOutcome = { kind: "unreachable" };

export function buildBody({ modelId, prompt, maxTokens }: Omit<CallWanted, "key">): Buffer {
  const messages = [{ role: "user", content: prompt }];
  const body = { model: modelId, max_tokens: maxTokens, stream: true, messages };
  return Buffer.from(JSON.stringify(body));
}

function toCallOutcome(
  { refusal, debitMicroUsd }: InProcessEnd,
  { text, isWhole }: ReadAnswer,
  times: { readonly firstByteMs: number | null; readonly totalMs: number },
): CallOutcome {
  const ended = { kind: "ended", costMicroUsd: debitMicroUsd, ...times } as const;
  if (refusal === undefined) return { ...ended, isAnswered: isWhole, text };
  return refusalOutcome(refusal) ?? { ...ended, isAnswered: false, text: "" };
}

/** The outcome of a refusal that affects the whole search; undefined if only this call failed. */
function refusalOutcome(refusal: Refusal): CallOutcome | undefined {
  const { class: cls, status, origin, limit, retryable, retryAfterSeconds } = refusal;
  // The wait is limited: a pool's window can last an hour, but another model may be free earlier.
  const waitMs =
    Math.min(retryAfterSeconds ?? DEFAULT_WAIT_SECONDS, RETRY_AFTER_SECONDS_MAX) * 1000;
  switch (cls) {
    case "rate_limit":
      return retryable ? { kind: "wait", waitMs } : undefined;
    case "usage_limited":
      return retryAfterSeconds === undefined || retryAfterSeconds > RETRY_AFTER_SECONDS_MAX
        ? { kind: "unusable", message: "requests are limited after unusual use; try again later" }
        : { kind: "wait", waitMs };
    case "gateway_error":
      return status === 503 ? { kind: "wait", waitMs } : undefined;
    case "insufficient_quota":
      return { kind: "uncovered", by: limit?.scope === "key" ? "budget" : "organization" };
    case "email_not_verified":
    case "usage_restricted":
      return { kind: "unusable", message: `the gateway refuses these requests: ${cls}` };
    case "auth":
      // A 401 of a provider has another `origin`: it concerns one model only, not the search's key.
      return origin === "authorization"
        ? { kind: "unusable", message: "the search's key was disabled" }
        : undefined;
    case "invalid_request":
    case "model_not_priced":
    case "context_overflow":
    case "content_policy":
    case "model_unavailable":
    case "upstream_error":
    case "not_found":
    case "request_too_large":
      return undefined;
    default:
      return unreachable(cls);
  }
}

/** Limits the text that is kept of an answer; a judge reads less than this. */
const ANSWER_CHARS_MAX = 16_000;

export interface ReadAnswer {
  readonly text: string;
  /** True if the stream ended with `[DONE]` and contained no error event. */
  readonly isWhole: boolean;
}

/** Reads a streamed chat answer, wherever its bytes are cut. Never throws. */
export class AnswerReader {
  readonly #events = new SseReader(({ data }) => this.#readEvent(data.toString("utf8")));
  #text = "";
  #isDone = false;
  #hasFailed = false;

  push(output: Output): void {
    this.#events.push(Buffer.from(output));
  }

  get answer(): ReadAnswer {
    return { text: this.#text, isWhole: this.#isDone && !this.#hasFailed };
  }

  #readEvent(data: string): void {
    if (data === "[DONE]") {
      this.#isDone = true;
      return;
    }
    const chunk = parseChunk(data);
    if (chunk === undefined) return;
    if (chunk.error !== undefined) this.#hasFailed = true;
    const piece = textOf(chunk.choices?.[0]?.delta?.content);
    if (this.#text.length < ANSWER_CHARS_MAX) {
      this.#text = (this.#text + piece).slice(0, ANSWER_CHARS_MAX);
    }
  }
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: unknown } }[];
  readonly error?: unknown;
}

function parseChunk(data: string): Chunk | undefined {
  try {
    return asObject(JSON.parse(data));
  } catch {
    return undefined;
  }
}
