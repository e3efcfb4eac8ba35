import { defined } from "../../../../../src/kernel/core/defined.ts";
import {
  errorTypeOf,
  exactCost,
  GatewayFault,
  member,
  parseJson,
  send,
  settledCost,
  text,
} from "../gateway.ts";
import { SseParser } from "../sse-parser.ts";
import type { ChatAnswer, ToolCall } from "./chat-types.ts";

type AnswerChange = Partial<ChatAnswer>;

/**
 * Reports each change of an answer. Never rejects: a failure becomes a state of the answer. If the
 * stream does not state the cost, reads it from the record of the request.
 */
export async function streamChat(
  body: object,
  signal: AbortSignal,
  report: (change: AnswerChange) => void,
): Promise<void> {
  const reader = new AnswerAssembler();
  let requestId: string | undefined;
  try {
    const response = await send("/chat/completions", { body, signal });
    requestId = response.headers.get("x-request-id") ?? undefined;
    report({
      ...defined({ requestId, provider: response.headers.get("x-tm-provider") ?? undefined }),
      state: "streaming",
    });
    await readStream(response, reader, report);
    report({ ...reader.change(), state: reader.endState(), durationMs: reader.elapsedMs() });
  } catch (fault) {
    report({ ...reader.change(), ...failed(fault, signal), durationMs: reader.elapsedMs() });
    if (fault instanceof GatewayFault) return;
  }
  if (reader.costUsd !== undefined || requestId === undefined) return;
  report(defined({ costUsd: await settledCost(requestId) }));
}

async function readStream(
  response: Response,
  reader: AnswerAssembler,
  report: (change: AnswerChange) => void,
): Promise<void> {
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const bytes = response.body?.getReader();
  if (bytes === undefined) throw new GatewayFault(response.status, undefined);
  for (;;) {
    const { done, value } = await bytes.read();
    if (done) return;
    for (const data of parser.push(decoder.decode(value, { stream: true }))) reader.read(data);
    report(reader.change());
  }
}

class AnswerAssembler {
  costUsd: string | undefined;
  #text = "";
  #reasoning = "";
  readonly #calls = new Map<number, ToolCall>();
  #isDone = false;
  #finish: string | undefined;
  #error: AnswerChange | undefined;
  #tokens: AnswerChange = {};
  #firstByteMs: number | undefined;
  readonly #startedMs = performance.now();

  elapsedMs(): number {
    return Math.round(performance.now() - this.#startedMs);
  }

  read(data: string): void {
    if (data === "[DONE]") {
      this.#isDone = true;
      return;
    }
    const chunk = parseJson(data);
    const choices = member(chunk, "choices");
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const delta = member(choice, "delta");
    this.#text += text(member(delta, "content")) ?? text(member(delta, "refusal")) ?? "";
    this.#reasoning +=
      text(member(delta, "reasoning_content")) ?? text(member(delta, "reasoning")) ?? "";
    this.#readCalls(member(delta, "tool_calls"));
    if (this.#text !== "" || this.#reasoning !== "" || this.#calls.size > 0) {
      this.#firstByteMs ??= this.elapsedMs();
    }
    this.#finish = text(member(choice, "finish_reason")) ?? this.#finish;
    this.#readUsage(member(chunk, "usage"), data);
    this.#readError(member(chunk, "error"));
  }

  change(): AnswerChange {
    return {
      text: this.#text,
      reasoning: this.#reasoning,
      ...this.#tokens,
      ...this.#error,
      ...defined({ costUsd: this.costUsd, firstByteMs: this.#firstByteMs }),
      ...(this.#finish === "length" ? { isCutOff: true } : {}),
      ...(this.#calls.size > 0 ? { toolCalls: [...this.#calls.values()] } : {}),
    };
  }

  endState(): ChatAnswer["state"] {
    return this.#isDone && this.#error === undefined ? "done" : "ended_early";
  }

  /** Reads parts of tool calls. One call's parts arrive in several chunks with the same `index`. */
  #readCalls(parts: unknown): void {
    if (!Array.isArray(parts)) return;
    for (const part of parts as readonly unknown[]) {
      const index = member(part, "index");
      const at = typeof index === "number" ? index : this.#calls.size;
      const before = this.#calls.get(at);
      const called = member(part, "function");
      this.#calls.set(at, {
        id: text(member(part, "id")) ?? before?.id ?? `call_${at}`,
        name: text(member(called, "name")) ?? before?.name ?? "",
        arguments: (before?.arguments ?? "") + (text(member(called, "arguments")) ?? ""),
      });
    }
  }

  #readUsage(usage: unknown, data: string): void {
    const prompt = member(usage, "prompt_tokens");
    const completion = member(usage, "completion_tokens");
    if (typeof prompt !== "number" || typeof completion !== "number") return;
    this.#tokens = { promptTokens: prompt, completionTokens: completion };
    this.costUsd = exactCost(data) ?? this.costUsd;
  }

  #readError(error: unknown): void {
    if (typeof error !== "object" || error === null) return;
    this.#error = {
      ...defined({ errorType: errorTypeOf(error) }),
      message: text(member(error, "message")) ?? "The provider failed.",
    };
  }
}

function failed(fault: unknown, signal: AbortSignal): AnswerChange {
  if (signal.aborted) return { state: "stopped" };
  if (!(fault instanceof GatewayFault)) {
    return { state: "ended_early", message: "The connection was lost. Try again." };
  }
  const { errorType, message, requestId } = fault;
  return { state: "refused", message, ...defined({ errorType, requestId }) };
}
