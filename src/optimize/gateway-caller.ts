import { Agent, request, type Dispatcher } from "undici";

import { retryAfterSecondsMax } from "../core/constants.ts";
import { microUsd, ZERO_MICRO_USD, type MicroUsd } from "../core/money.ts";
import type { Clock } from "../core/time.ts";
import { AnswerReader } from "./answer-reader.ts";

const CALL_TIMEOUT_MS = 480_000;
const RECORD_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
const ERROR_BYTES_MAX = 64 * 1024;
const DEFAULT_WAIT_MS = 2_000;

export interface CallWanted {
  readonly key: string;
  readonly modelId: string;
  readonly prompt: string;
  readonly maxTokens: number;
}

/** How one call of a search ended. */
export type CallOutcome =
  | {
      readonly kind: "ended";
      readonly isAnswered: boolean;
      readonly text: string;
      readonly costMicroUsd: MicroUsd;
      readonly firstByteMs: number | null;
    }
  /** A limit, or everything is cooling down: nothing was sent, ask again after the wait. */
  | { readonly kind: "wait"; readonly waitMs: number }
  /** What is left of a cap or of the balance does not cover the most that this call could cost. */
  | { readonly kind: "uncovered"; readonly by: "budget" | "organization" }
  /** No later call can do better: `message` is for people. */
  | { readonly kind: "unusable"; readonly message: string }
  | { readonly kind: "unreachable" };

/** Calls the gateway as any client does: over HTTP, with a key. */
export class GatewayCaller {
  readonly #gatewayUrl: () => string;
  readonly #clock: Clock;
  readonly #agent = new Agent({ headersTimeout: CALL_TIMEOUT_MS, bodyTimeout: CALL_TIMEOUT_MS });

  constructor(gatewayUrl: () => string, clock: Clock) {
    this.#gatewayUrl = gatewayUrl;
    this.#clock = clock;
  }

  /** One streamed chat call. Never rejects; an aborted one is `unreachable`. */
  async ask(wanted: CallWanted, signal: AbortSignal): Promise<CallOutcome> {
    const startedMs = this.#clock.monotonicMs();
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]);
    try {
      const answer = await request(new URL("/v1/chat/completions", this.#gatewayUrl()), {
        dispatcher: this.#agent,
        method: "POST",
        headers: { authorization: `Bearer ${wanted.key}`, "content-type": "application/json" },
        body: bodyOf(wanted),
        signal: inTime,
      });
      return answer.statusCode === 200
        ? await this.#readAnswer(answer, wanted, { startedMs, signal })
        : await this.#readRefusal(answer, wanted, signal);
    } catch {
      return { kind: "unreachable" };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #readAnswer(
    answer: Dispatcher.ResponseData,
    wanted: CallWanted,
    call: { readonly startedMs: number; readonly signal: AbortSignal },
  ): Promise<CallOutcome> {
    const reader = new AnswerReader();
    let firstByteMs: number | null = null;
    let bytes = 0;
    try {
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        firstByteMs ??= Math.round(this.#clock.monotonicMs() - call.startedMs);
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) throw new Error("the answer is too long");
        reader.push(chunk);
      }
    } catch {
      // What came so far counts as a failed call; its cost is in the record.
    }
    const { text, isWhole, costMicroUsd } = reader.answer;
    return {
      kind: "ended",
      isAnswered: isWhole,
      text,
      costMicroUsd: costMicroUsd ?? (await this.#recordedCost(answer, wanted, call.signal)),
      firstByteMs,
    };
  }

  async #readRefusal(
    answer: Dispatcher.ResponseData,
    wanted: CallWanted,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const text = await boundedText(answer);
    const error = errorOf(text);
    const outcome = refusalOutcome(answer, error);
    if (outcome !== undefined) return outcome;
    const costMicroUsd =
      answer.headers["x-tm-attempts"] === undefined
        ? ZERO_MICRO_USD
        : await this.#recordedCost(answer, wanted, signal);
    return { kind: "ended", isAnswered: false, text: "", costMicroUsd, firstByteMs: null };
  }

  /** What the journal says that the request was debited; 0 when it cannot be asked. */
  async #recordedCost(
    answer: Dispatcher.ResponseData,
    { key }: CallWanted,
    signal: AbortSignal,
  ): Promise<MicroUsd> {
    const requestId = answer.headers["x-request-id"];
    if (typeof requestId !== "string") return ZERO_MICRO_USD;
    try {
      const url = new URL("/v1/generation", this.#gatewayUrl());
      url.searchParams.set("id", requestId);
      const record = await request(url, {
        dispatcher: this.#agent,
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.any([signal, AbortSignal.timeout(RECORD_TIMEOUT_MS)]),
      });
      const digits = /"cost_micro_usd":(\d{1,18})\b/.exec(await boundedText(record))?.[1];
      return digits === undefined ? ZERO_MICRO_USD : microUsd(BigInt(digits));
    } catch {
      return ZERO_MICRO_USD;
    }
  }
}

function bodyOf({ modelId, prompt, maxTokens }: CallWanted): string {
  return JSON.stringify({
    model: modelId,
    max_tokens: maxTokens,
    stream: true,
    messages: [{ role: "user", content: prompt }],
  });
}

/** A refusal that says something about the search; undefined: this call failed and that is all. */
function refusalOutcome(
  answer: Dispatcher.ResponseData,
  error: GatewayError,
): CallOutcome | undefined {
  const waitMs = waitMsOf(answer);
  switch (error.errorType) {
    case "rate_limit":
      return { kind: "wait", waitMs: waitMs ?? DEFAULT_WAIT_MS };
    case "usage_limited":
      return waitMs === undefined || waitMs > retryAfterSecondsMax * 1000
        ? { kind: "unusable", message: "requests are limited after unusual use; try again later" }
        : { kind: "wait", waitMs };
    case "gateway_error":
      return answer.statusCode === 503
        ? { kind: "wait", waitMs: waitMs ?? DEFAULT_WAIT_MS }
        : undefined;
    case "insufficient_quota":
      return { kind: "uncovered", by: error.limitScope === "key" ? "budget" : "organization" };
    case "email_not_verified":
    case "usage_restricted":
      return {
        kind: "unusable",
        message: `the gateway refuses these requests: ${error.errorType}`,
      };
    case "auth":
      // A provider's own 401 is relayed with another origin: that is this model's matter.
      return error.origin === "authorization"
        ? { kind: "unusable", message: "the search's key was disabled" }
        : undefined;
    case undefined:
    default:
      return undefined;
  }
}

function waitMsOf(answer: Dispatcher.ResponseData): number | undefined {
  const text = answer.headers["retry-after"];
  if (typeof text !== "string" || !/^\d{1,6}$/.test(text)) return undefined;
  return Number(text) * 1000;
}

interface GatewayError {
  readonly errorType: string | undefined;
  readonly limitScope: string | undefined;
  readonly origin: string | undefined;
}

function errorOf(text: string): GatewayError {
  const metadata = member(member(parsed(text), "error"), "metadata");
  return {
    errorType: word(member(metadata, "error_type")),
    limitScope: word(member(metadata, "limit_scope")),
    origin: word(member(metadata, "origin")),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function word(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

async function boundedText(answer: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ERROR_BYTES_MAX) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
