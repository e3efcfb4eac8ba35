import { setTimeout as sleep } from "node:timers/promises";

import type { AttemptHandler, OutputSink } from "../../../upstream/index.ts";
import { isPieces, type Output, type WholeBody } from "../../../formats/index.ts";

/** Maximum bytes kept of the provider's body, and of the answer that a client would receive. */
export const BODY_KEPT_BYTES_MAX = 4_194_304;
/** Maximum bytes kept of a provider's body with images: as many as the gateway accepts. */
export const IMAGE_BODY_KEPT_BYTES_MAX = 50_331_648;

/** Records the provider's answer, unchanged, and what a client would receive of the answer. */
export class AnswerRecorder implements OutputSink {
  readonly committed: boolean = true;
  headers: Readonly<Record<string, string | string[] | undefined>> = {};
  wasReset = false;
  pieces = 0;
  readonly #raw: KeptBytes;
  readonly #output = new KeptBytes(BODY_KEPT_BYTES_MAX);

  readonly #closed: Promise<void>;
  #close: () => void = () => {};

  constructor(bodyBytesMax: number = BODY_KEPT_BYTES_MAX) {
    this.#raw = new KeptBytes(bodyBytesMax);
    this.#closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  write(output: Output): boolean {
    this.#output.add(output);
    return true;
  }

  commit(): void {}

  /** Adds the last bytes of a complete answer. For whole JSON, they are the entire body. */
  takeLast(body: WholeBody): void {
    for (const piece of isPieces(body) ? body : [body]) this.#output.add(piece);
  }

  listening(inner: AttemptHandler): AttemptHandler {
    return {
      onRefused: (error) => inner.onRefused(error),
      onRequestStart: (controller, context) => inner.onRequestStart?.(controller, context),
      onResponseStart: (controller, status, headers, message) => {
        if (status >= 200) this.headers = headers;
        inner.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData: (controller, chunk) => {
        this.pieces += 1;
        this.#raw.add(chunk);
        inner.onResponseData?.(controller, chunk);
      },
      onResponseEnd: (controller, trailers) => {
        inner.onResponseEnd?.(controller, trailers);
        this.#close();
      },
      onResponseError: (controller, error) => {
        // An attempt that has read enough aborts the connection itself, which is no reset.
        // Without a connection, `controller` is undefined, although its type does not say so.
        const { aborted } = (controller as Partial<typeof controller> | undefined) ?? {};
        this.wasReset = aborted !== true;
        inner.onResponseError?.(controller, error);
        this.#close();
      },
    };
  }

  async closed(waitMs: number): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([this.#closed, sleep(waitMs, undefined, { signal: waiting.signal })]).catch(
      () => undefined,
    );
    waiting.abort();
  }

  body(): Buffer {
    return this.#raw.whole();
  }

  output(): string {
    return this.#output.whole().toString("utf8");
  }
}

class KeptBytes {
  readonly #pieces: Buffer[] = [];
  readonly #bytesMax: number;
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(piece: Output): void {
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    const kept = Buffer.from(bytes.subarray(0, this.#bytesMax - this.#length));
    if (kept.length > 0) this.#pieces.push(kept);
    this.#length += kept.length;
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}
