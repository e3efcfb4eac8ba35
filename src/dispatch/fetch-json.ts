import type { Dispatcher } from "undici";

import type { Deadline, Deadlines } from "../core/deadlines.ts";
import type { Clock } from "../core/time.ts";

export type JsonFetchHandler = Dispatcher.DispatchHandler & { onRefused(error: Error): void };

export interface JsonFetchInput {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Longest wait for the whole answer. */
  readonly totalMs: number;
  /** A longer answer is none. */
  readonly bytesMax: number;
  /** Hands the handler to the transport. */
  readonly send: (handler: JsonFetchHandler) => void;
}

export interface RunningJsonFetch {
  /** The JSON of a 2xx answer; undefined for everything else, whatever went wrong. */
  readonly ended: Promise<unknown>;
  /** Stop at once: nobody waits any more. */
  abandon(): void;
}

/**
 * One small question to a provider, aside from any call: no output to a client, no failover, no
 * money. Bounded in time and size; it never rejects.
 */
export function fetchJson(input: JsonFetchInput): RunningJsonFetch {
  const run = new JsonFetchRun(input);
  input.deadlines.watch(run);
  try {
    input.send(run);
  } catch {
    run.onRefused();
  }
  return run;
}

class JsonFetchRun implements JsonFetchHandler, RunningJsonFetch, Deadline {
  readonly ended: Promise<unknown>;
  dueMs: number;
  watchedAt = -1;

  readonly #input: JsonFetchInput;
  #resolve: (json: unknown) => void = () => {};
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(input: JsonFetchInput) {
    this.#input = input;
    this.dueMs = input.clock.monotonicMs() + input.totalMs;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  abandon(): void {
    this.#giveUp();
  }

  cut(): void {
    this.#giveUp();
  }

  onDue(): void {
    this.#giveUp();
  }

  onRefused(): void {
    this.#end(undefined);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The time may have run out while the request waited for a connection.
    if (this.#isOver) controller.abort(new Error("nobody waits for this answer"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    const { "content-encoding": encoding = "identity" } = headers;
    if (status >= 300 || encoding !== "identity") this.#giveUp();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#input.bytesMax) this.#giveUp();
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end(parsed(Buffer.concat(this.#chunks)));
  }

  onResponseError(): void {
    this.#end(undefined);
  }

  #giveUp(): void {
    if (this.#isOver) return;
    this.#end(undefined);
    this.#controller?.abort(new Error("nobody waits for this answer"));
  }

  #end(json: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#chunks = [];
    this.#input.deadlines.unwatch(this);
    this.#resolve(json);
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
