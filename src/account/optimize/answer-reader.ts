import { type Output, SseReader } from "../../formats/index.ts";

/** What is kept of an answer: a judge reads no more. */
const ANSWER_CHARS_MAX = 16_000;

/** What a streamed chat answer came to. */
export interface ReadAnswer {
  /** At most 16,000 characters of it. */
  readonly text: string;
  /** It has its end mark: it was neither cut off nor ended by an error event. */
  readonly isWhole: boolean;
}

/** Reads a streamed chat answer, however its bytes are cut. Never throws. */
export class AnswerReader {
  readonly #events = new SseReader(({ data }) => this.#readEvent(data.toString("utf8")));
  #text = "";
  #isDone = false;
  #hasFailed = false;

  push(output: Output): void {
    this.#events.push(typeof output === "string" ? Buffer.from(output) : output);
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
    const piece = chunk.choices?.[0]?.delta?.content;
    if (typeof piece === "string" && this.#text.length < ANSWER_CHARS_MAX) {
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
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
