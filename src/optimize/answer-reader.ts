import { floorToMicroUsd, parseUsdToPico, type MicroUsd } from "../core/money.ts";

/** What is kept of an answer: a judge reads no more. */
const ANSWER_CHARS_MAX = 16_000;
const LINE_CHARS_MAX = 1_000_000;

/** What a streamed chat answer came to. */
export interface ReadAnswer {
  /** At most 16,000 characters of it. */
  readonly text: string;
  /** It said its last word: neither cut off nor ended by an error event. */
  readonly isWhole: boolean;
  /** Undefined: the stream did not say. */
  readonly costMicroUsd: MicroUsd | undefined;
}

/** Reads a streamed chat answer, however its bytes are cut. */
export class AnswerReader {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #text = "";
  #isDone = false;
  #hasFailed = false;
  #costMicroUsd: MicroUsd | undefined;

  push(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > LINE_CHARS_MAX) throw new Error("a line of the answer has no end");
    for (const line of lines) this.#readLine(line.trimEnd());
  }

  get answer(): ReadAnswer {
    return {
      text: this.#text,
      isWhole: this.#isDone && !this.#hasFailed,
      costMicroUsd: this.#costMicroUsd,
    };
  }

  #readLine(line: string): void {
    if (!line.startsWith("data:")) return;
    const data = line.slice("data:".length).trim();
    if (data === "[DONE]") {
      this.#isDone = true;
      return;
    }
    const chunk = parseChunk(data);
    if (chunk === undefined) return;
    if (chunk.error !== undefined) this.#hasFailed = true;
    const piece = chunk.choices?.[0]?.delta?.content;
    if (typeof piece === "string" && this.#text.length < ANSWER_CHARS_MAX) {
      this.#text = (this.#text + piece).slice(0, ANSWER_CHARS_MAX);
    }
    if (typeof chunk.usage?.cost === "number") {
      this.#costMicroUsd = exactCost(data, chunk.usage.cost) ?? this.#costMicroUsd;
    }
  }
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: unknown } }[];
  readonly usage?: { readonly cost?: unknown };
  readonly error?: unknown;
}

function parseChunk(data: string): Chunk | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The digits as they were sent: the parsed value only says which of the texts is meant. */
function exactCost(data: string, value: number): MicroUsd | undefined {
  for (const [, digits = ""] of data.matchAll(/"cost"\s*:\s*(-?[0-9][0-9.eE+-]*)/g)) {
    const exact = JSON.parse(digits) === value ? parseUsdToPico(digits) : undefined;
    if (exact !== undefined) return floorToMicroUsd(exact);
  }
  return undefined;
}
