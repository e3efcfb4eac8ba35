import type { Dispatcher } from "undici";

import { type Clock, type Deadline, type Deadlines, tryParse } from "../kernel/index.ts";

export type FetchHandler = Dispatcher.DispatchHandler & { onRefused(error: Error): void };

export interface FetchInput {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Longest wait for the whole answer. */
  readonly totalMs: number;
  /** A longer answer is none. */
  readonly bytesMax: number;
  /** Hands the handler to the transport. */
  readonly send: (handler: FetchHandler) => void;
}

/** One fetch under way. */
export interface RunningFetch<T> {
  /** Undefined: there was no answer in time, or none within its bounds. Never rejects. */
  readonly ended: Promise<T | undefined>;
  /** Stop at once: the answer is no longer needed. */
  abandon(): void;
}

export type RunningJsonFetch = RunningFetch<unknown>;

export interface FetchedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Empty unless the status is a 2xx: what else a provider says is not read. */
  readonly body: Buffer;
}

/**
 * One small question to a provider, independent of any call: no output to a client, no failover, no
 * money. Bounded in time and size; it never rejects.
 */
export function fetchAnswer(input: FetchInput): RunningFetch<FetchedAnswer> {
  const run = new FetchRun(input);
  input.deadlines.watch(run);
  try {
    input.send(run);
  } catch {
    run.onRefused();
  }
  return run;
}

/** The same for an answer whose JSON is all that counts: of a 2xx, else undefined. */
export function fetchJson(input: FetchInput): RunningJsonFetch {
  const run = fetchAnswer(input);
  return {
    ended: run.ended.then((answer) => (answer === undefined ? undefined : jsonOf(answer))),
    abandon: () => run.abandon(),
  };
}

class FetchRun implements FetchHandler, RunningFetch<FetchedAnswer>, Deadline {
  readonly ended: Promise<FetchedAnswer | undefined>;
  dueMs: number;
  watchedAt = -1;

  readonly #input: FetchInput;
  #resolve: (answer: FetchedAnswer | undefined) => void = () => {};
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #head: Omit<FetchedAnswer, "body"> | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(input: FetchInput) {
    this.#input = input;
    this.dueMs = input.clock.monotonicMs() + input.totalMs;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  abandon(): void {
    this.#giveUp(undefined);
  }

  cut(): void {
    this.#giveUp(undefined);
  }

  onDue(): void {
    this.#giveUp(undefined);
  }

  onRefused(): void {
    this.#end(undefined);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The time may have run out while the request waited for a connection.
    if (this.#isOver) controller.abort(new Error("this answer is no longer needed"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: FetchedAnswer["headers"],
  ): void {
    if (status < 200) return;
    const { "content-encoding": encoding = "identity" } = headers;
    if (status >= 300) this.#giveUp({ status, headers, body: NO_BYTES });
    else if (encoding !== "identity") this.#giveUp(undefined);
    else this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#input.bytesMax) this.#giveUp(undefined);
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#head !== undefined) this.#end({ ...this.#head, body: Buffer.concat(this.#chunks) });
  }

  onResponseError(): void {
    this.#end(undefined);
  }

  #giveUp(answer: FetchedAnswer | undefined): void {
    if (this.#isOver) return;
    this.#end(answer);
    this.#controller?.abort(new Error("this answer is no longer needed"));
  }

  #end(answer: FetchedAnswer | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#chunks = [];
    this.#input.deadlines.unwatch(this);
    this.#resolve(answer);
  }
}

const NO_BYTES = Buffer.alloc(0);

function jsonOf({ status, body }: FetchedAnswer): unknown {
  return status < 300 ? tryParse(body.toString())?.value : undefined;
}
