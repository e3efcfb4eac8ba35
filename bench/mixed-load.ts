import { type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/kernel/core/time.ts";
import { AnswerReader, openSocket, startPace, lastEventOf } from "./answer-reader.ts";
import { takeJobs } from "./children.ts";
import { requestBytes, type Endpoint } from "./endpoint.ts";
import { share } from "./program.ts";

/**
 * The mixed load is a process that takes one `MixedJob` at a time over IPC: many kinds of request,
 * streams among them. It sends a `MixedReport` for each window and a last message when no request
 * is in flight any more, or 10 seconds after the last window.
 */
/** One kind of request. The load sends all kinds in turn. */
export interface MixedRequest {
  readonly endpoint: Endpoint;
  readonly body: string;
  readonly stream: boolean;
  /** True if the provider speaks another wire than the client. */
  readonly isTranslated: boolean;
}

export interface MixedJob {
  readonly requests: readonly MixedRequest[];
  /** The most connections that are open at once, each with one request at a time. */
  readonly connections: number;
  readonly requestsPerSecond: number;
  readonly warmupMs: number;
  /** Each window ends with a report. */
  readonly windowMs: number;
  readonly windows: number;
}

export interface MixedReport {
  readonly windowMs: number;
  readonly answered: number;
  readonly streams: number;
  /** Number of 503 answers with a `retry-after` header. */
  readonly announced: number;
  /** The first bytes of the first such 503 answer; empty if there was none. */
  readonly firstAnnounced: string;
  /** Counts other answers that are not 200, streams that ended early and lost connections. */
  readonly errors: number;
  readonly firstError: string;
  /** Requests that were due while all connections were in use. */
  readonly late: number;
  /** Requests that were sent once more because their kept-alive connection had been closed. */
  readonly resent: number;
  /** Time to the last byte of an answer that is neither streamed nor translated. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Time to the first byte of a stream. */
  readonly streamP50Ms: number;
  readonly streamP99Ms: number;
}

takeJobs(async (job: MixedJob) => {
  await new MixedLoad(job).run((report) => process.send?.({ report }));
  return { ended: true };
});

interface Prepared {
  readonly bytes: Buffer;
  readonly isStream: boolean;
  readonly isTranslated: boolean;
  readonly lastEvent: string;
}

interface Connection {
  readonly socket: Socket;
  readonly answer: AnswerReader;
  request: Prepared | undefined;
  sentAtMs: number;
  /** 0 until the first byte of the answer has arrived. */
  firstByteAtMs: number;
  answers: number;
}

const DRAIN_MS = 10_000;
const ANNOUNCED = /^HTTP\/1\.1 503 [^]*\r\nretry-after:/i;

class MixedLoad {
  readonly #job: MixedJob;
  readonly #requests: readonly Prepared[];
  readonly #idle: Connection[] = [];
  #open = 0;
  #next = 0;
  #running = true;
  #tally: Tally = new Tally();

  constructor(job: MixedJob) {
    this.#job = job;
    this.#requests = job.requests.map(prepared);
  }

  async run(onReport: (report: MixedReport) => void): Promise<void> {
    const { warmupMs, windows } = this.#job;
    await Promise.all(Array.from({ length: this.#job.connections }, () => this.#connect()));
    const stop = this.#pace();
    await sleep(warmupMs);
    for (let window = 0; window < windows; window += 1) onReport(await this.#watch());
    stop();
    this.#running = false;
    await this.#drain();
  }

  #pace(): () => void {
    return startPace(this.#job.requestsPerSecond, () => {
      const connection = this.#idle.shift();
      const request = this.#requests[this.#next % this.#requests.length];
      this.#next += 1;
      if (connection === undefined || request === undefined) this.#tally.late += 1;
      else sendOn(connection, request);
    });
  }

  /** Opens a connection, and sends `first` on it at once if it is given. */
  async #connect(first?: Prepared): Promise<void> {
    const socket = await openSocket(this.#job.requests[0]?.endpoint.port ?? 0);
    const answer = new AnswerReader();
    const times = { sentAtMs: 0, firstByteAtMs: 0, answers: 0 };
    const connection: Connection = { socket, answer, request: undefined, ...times };
    this.#open += 1;
    socket.on("data", (bytes) => {
      if (connection.firstByteAtMs === 0) connection.firstByteAtMs = systemClock.monotonicMs();
      answer.feed(bytes);
      if (answer.done) this.#answered(connection);
    });
    socket.on("close", () => this.#closed(connection));
    if (first === undefined) this.#idle.push(connection);
    else sendOn(connection, first);
  }

  #answered(connection: Connection): void {
    const { request, answer } = connection;
    if (request === undefined) return;
    connection.request = undefined;
    connection.answers += 1;
    const wholeMs = systemClock.monotonicMs() - connection.sentAtMs;
    const firstByteMs = connection.firstByteAtMs - connection.sentAtMs;
    this.#tally.note(request, answer, { wholeMs, firstByteMs });
    if (connection.socket.destroyed) return;
    this.#idle.push(connection);
  }

  /**
   * Replaces a closed connection. If `isSentAgain`, its request is sent again, as HTTP clients do
   * when a load balancer that reloads closes idle connections; any other request counts as failed.
   */
  #closed(connection: Connection): void {
    this.#open -= 1;
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    const { request } = connection;
    connection.request = undefined;
    const again = isSentAgain(connection) ? request : undefined;
    if (again !== undefined) this.#tally.resent += 1;
    else if (request !== undefined) this.#tally.fail("a connection was closed unanswered");
    if (!this.#running && again === undefined) return;
    this.#connect(again).catch((error: unknown) => this.#tally.fail(String(error)));
  }

  async #watch(): Promise<MixedReport> {
    const tally = new Tally();
    this.#tally = tally;
    const startMs = systemClock.monotonicMs();
    await sleep(this.#job.windowMs);
    return tally.report(systemClock.monotonicMs() - startMs);
  }

  /** Waits up to 10 s for requests in flight, so that the next job starts on a quiet target. */
  async #drain(): Promise<void> {
    const endMs = systemClock.monotonicMs() + DRAIN_MS;
    while (this.#idle.length < this.#open && systemClock.monotonicMs() < endMs) await sleep(5);
    for (const connection of this.#idle) connection.socket.destroy();
  }
}

function sendOn(connection: Connection, request: Prepared): void {
  connection.answer.reset();
  connection.request = request;
  connection.firstByteAtMs = 0;
  connection.sentAtMs = systemClock.monotonicMs();
  connection.socket.write(request.bytes);
}

/** True if the connection had answers before, but no byte of the answer to its last request. */
function isSentAgain({ answers, firstByteAtMs }: Connection): boolean {
  return answers > 0 && firstByteAtMs === 0;
}

function prepared({ endpoint, body, stream, isTranslated }: MixedRequest): Prepared {
  const lastEvent = lastEventOf(endpoint.path);
  return { bytes: requestBytes(endpoint, body), isStream: stream, isTranslated, lastEvent };
}

class Tally {
  late = 0;
  resent = 0;
  readonly #seen = {
    answered: 0,
    streams: 0,
    announced: 0,
    firstAnnounced: "",
    errors: 0,
    firstError: "",
  };
  readonly #latenciesMs: number[] = [];
  readonly #firstBytesMs: number[] = [];

  note(
    request: Prepared,
    answer: AnswerReader,
    took: { readonly wholeMs: number; readonly firstByteMs: number },
  ): void {
    const seen = this.#seen;
    if (answer.status === 503 && ANNOUNCED.test(answer.excerpt)) {
      seen.announced += 1;
      seen.firstAnnounced ||= answer.excerpt;
    } else if (answer.status !== 200) this.fail(answer.excerpt);
    else if (!request.isStream) {
      seen.answered += 1;
      if (!request.isTranslated) this.#latenciesMs.push(took.wholeMs);
    } else if (answer.tailText().includes(request.lastEvent)) {
      seen.answered += 1;
      seen.streams += 1;
      this.#firstBytesMs.push(took.firstByteMs);
    } else this.fail(`a stream ended without its last event: ${answer.tailText().slice(-200)}`);
  }

  fail(message: string): void {
    this.#seen.errors += 1;
    this.#seen.firstError ||= message;
  }

  report(windowMs: number): MixedReport {
    return {
      windowMs,
      ...this.#seen,
      late: this.late,
      resent: this.resent,
      p50Ms: share(this.#latenciesMs, 0.5),
      p99Ms: share(this.#latenciesMs, 0.99),
      streamP50Ms: share(this.#firstBytesMs, 0.5),
      streamP99Ms: share(this.#firstBytesMs, 0.99),
    };
  }
}
