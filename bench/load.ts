import { type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { unreachable } from "../src/kernel/core/assert.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import { AnswerReader, openSocket, startPace, lastEventOf } from "./answer-reader.ts";
import { takeJobs } from "./children.ts";
import { requestBytes, withKey, type Endpoint } from "./endpoint.ts";
import { readCpuNs } from "../test/support/process-cost.ts";
import { median } from "./program.ts";

/**
 * The load generator is a process that takes one `LoadJob` at a time over IPC and answers with a
 * `LoadReport`. It reads the CPU time of the watched processes itself, exactly when it starts and
 * stops counting.
 */

// Streams are opened in groups of this size, so that no target's listen queue overflows.
const OPENED_AT_ONCE = 50;
const OPEN_TIMEOUT_MS = 20_000;

export type LoadJob =
  | ({ readonly kind: "requests" } & RequestLoad & Watched)
  | ({ readonly kind: "open_streams"; readonly streams: number } & Destination)
  | ({ readonly kind: "watch_streams"; readonly windowMs: number } & Watched)
  | { readonly kind: "await_stream_ends"; readonly timeoutMs: number };

export interface Destination {
  readonly endpoint: Endpoint;
  readonly body: string;
  /** Connections of a `requests` job use these ports in turn; streams use the endpoint's own. */
  readonly ports?: readonly number[];
  /** A `requests` job uses these keys in turn; streams use the endpoint's own. */
  readonly keys?: readonly string[];
  /** Expected status of every answer of a `requests` job. Default 200. */
  readonly status?: number;
  /** A text in the refusal, such as its code. A probe before the measurement checks for it. */
  readonly code?: string;
}

export interface RequestLoad extends Destination {
  readonly connections: number;
  /** If absent, each connection sends its next request as soon as the last one is answered. */
  readonly requestsPerSecond?: number;
  readonly warmupMs: number;
  readonly windowMs: number;
}

/**
 * One value for the target itself, one for its helper processes such as a database, one for its
 * Redis.
 */
export interface ByPart<T> {
  readonly own: T;
  readonly helpers: T;
  readonly redis: T;
}

export interface Watched {
  /** Processes whose CPU time is read at the start and at the end of the measured time. */
  readonly processes: ByPart<readonly number[]>;
}

/** `count` counts answered requests, received events or streams, depending on the kind of job. */
export interface LoadReport {
  readonly count: number;
  readonly windowMs: number;
  readonly cpuNs: ByPart<number>;
  readonly failures: number;
  /** Empty if there was no failure. */
  readonly firstFailure: string;
  /** Median milliseconds from sending a request to the end of its answer; 0 for streams. */
  readonly p50Ms: number;
}

takeJobs(async (job: LoadJob) => ({ report: await runJob(job) }));

function runJob(job: LoadJob): Promise<LoadReport> {
  switch (job.kind) {
    case "requests":
      return sendRequests(job);
    case "open_streams":
      return openStreams(job, job.streams);
    case "watch_streams":
      return watch(job, job.windowMs, streamTally);
    case "await_stream_ends":
      return awaitStreamEnds(job.timeoutMs);
    default:
      return unreachable(job);
  }
}

interface Connection {
  readonly socket: Socket;
  readonly answer: AnswerReader;
  busy: boolean;
  sentAtMs: number;
}

class Tally {
  answered = 0;
  failures = 0;
  firstFailure = "";
  readonly latenciesMs: number[] = [];

  fail(message: string): void {
    this.failures += 1;
    if (this.firstFailure === "") this.firstFailure = message;
  }
}

async function sendRequests(job: RequestLoad & Watched): Promise<LoadReport> {
  const next = requestsInTurn(job);
  const tally = new Tally();
  const idle: Connection[] = [];
  const isPaced = job.requestsPerSecond !== undefined;
  let running = true;
  const connections = await openConnections(job, tally, (connection) => {
    tally.answered += 1;
    tally.latenciesMs.push(systemClock.monotonicMs() - connection.sentAtMs);
    if (isPaced) idle.push(connection);
    else if (running) send(connection, next());
  });
  if (isPaced) idle.push(...connections);
  else for (const connection of connections) send(connection, next());
  const stop = startPace(job.requestsPerSecond ?? 0, () => {
    const connection = idle.shift();
    if (connection === undefined) tally.fail("no idle connection: the target is too slow");
    else send(connection, next());
  });
  await sleep(job.warmupMs);
  tally.latenciesMs.length = 0;
  const report = await watch(job, job.windowMs, tally);
  running = false;
  stop();
  await closeConnections(connections);
  return report;
}

/** Returns a function that gives the next request to send. The keys of the job take turns. */
function requestsInTurn({ endpoint, body, keys }: Destination): () => Buffer {
  const endpoints = keys === undefined ? [endpoint] : keys.map((key) => withKey(endpoint, key));
  const requests = endpoints.map((each) => requestBytes(each, body));
  let sent = 0;
  return () => requests[sent++ % requests.length] ?? Buffer.alloc(0);
}

async function watch(watched: Watched, windowMs: number, tally: Tally): Promise<LoadReport> {
  const before = tally.answered;
  const startMs = systemClock.monotonicMs();
  const startNs = mapParts(watched.processes, readCpuNs);
  await sleep(windowMs);
  const cpuNs = mapParts(watched.processes, (ids, part) => readCpuNs(ids) - startNs[part]);
  const count = tally.answered - before;
  return { ...reportOf(tally), count, windowMs: systemClock.monotonicMs() - startMs, cpuNs };
}

function mapParts<A, B>(
  { own, helpers, redis }: ByPart<A>,
  map: (value: A, part: keyof ByPart<A>) => B,
): ByPart<B> {
  return { own: map(own, "own"), helpers: map(helpers, "helpers"), redis: map(redis, "redis") };
}

function reportOf(tally: Tally): LoadReport {
  return {
    count: tally.answered,
    windowMs: 0,
    cpuNs: { own: 0, helpers: 0, redis: 0 },
    failures: tally.failures,
    firstFailure: tally.firstFailure,
    p50Ms: median(tally.latenciesMs),
  };
}

function openConnections(
  job: RequestLoad,
  tally: Tally,
  onAnswer: (connection: Connection) => void,
): Promise<readonly Connection[]> {
  const { status = 200, ports = [job.endpoint.port] } = job;
  const opened = Array.from({ length: job.connections }, async (_, at) => {
    const connection = await openConnection(ports[at % ports.length] ?? job.endpoint.port);
    const { socket, answer } = connection;
    socket.on("data", (bytes) => {
      answer.feed(bytes);
      if (!answer.done) return;
      connection.busy = false;
      if (answer.status === status) onAnswer(connection);
      else {
        tally.fail(answer.excerpt);
        socket.destroy();
      }
    });
    socket.on("close", () => {
      if (connection.busy) tally.fail("the target closed a connection before it answered");
    });
    return connection;
  });
  return Promise.all(opened);
}

async function openConnection(port: number): Promise<Connection> {
  return { socket: await openSocket(port), answer: new AnswerReader(), busy: false, sentAtMs: 0 };
}

function send(connection: Connection, bytes: Buffer): void {
  connection.answer.reset();
  connection.busy = true;
  connection.sentAtMs = systemClock.monotonicMs();
  connection.socket.write(bytes);
}

/** Lets requests in flight end within 5 s, then closes, so that the next target starts quiet. */
async function closeConnections(connections: readonly Connection[]): Promise<void> {
  const isQuiet = (): boolean => !connections.some((c) => c.busy && !c.socket.destroyed);
  await until(isQuiet, 5_000).catch(() => undefined);
  for (const connection of connections) {
    connection.busy = false;
    connection.socket.destroy();
  }
}

let openStreamsList: Connection[] = [];
let streamTally = new Tally();
let openedStreams = 0;
let endedStreams = 0;

/** Opens the streams. Resolves when each has received its first event or has failed. */
async function openStreams(destination: Destination, streams: number): Promise<LoadReport> {
  const bytes = requestBytes(destination.endpoint, destination.body);
  for (const connection of openStreamsList) connection.socket.destroy();
  openStreamsList = [];
  streamTally = new Tally();
  openedStreams = 0;
  endedStreams = 0;
  while (openStreamsList.length < streams) {
    const group = Math.min(OPENED_AT_ONCE, streams - openStreamsList.length);
    const opened = Array.from({ length: group }, () => openStream(destination, bytes));
    openStreamsList.push(...(await Promise.all(opened)));
    await until(() => openedStreams + streamTally.failures >= openStreamsList.length);
  }
  return { ...reportOf(streamTally), count: openedStreams };
}

async function openStream(destination: Destination, bytes: Buffer): Promise<Connection> {
  const { port, path } = destination.endpoint;
  const lastEvent = lastEventOf(path);
  const connection = await openConnection(port);
  const { socket, answer } = connection;
  let opened = false;
  socket.on("data", (received) => {
    const eventsBefore = answer.events;
    answer.feed(received);
    streamTally.answered += answer.events - eventsBefore;
    if (!opened && answer.events > 0) {
      opened = true;
      openedStreams += 1;
    }
    if (!answer.done || !connection.busy) return;
    connection.busy = false;
    noteStreamEnd(answer, lastEvent);
    socket.destroy();
  });
  socket.on("close", () => {
    if (connection.busy) streamTally.fail("the target cut a stream");
  });
  send(connection, bytes);
  return connection;
}

function noteStreamEnd(answer: AnswerReader, lastEvent: string): void {
  const tail = answer.tailText();
  if (answer.status !== 200) streamTally.fail(answer.excerpt);
  else if (tail.includes(lastEvent)) endedStreams += 1;
  else streamTally.fail(`a stream ended without its last event: ${tail.slice(-300)}`);
}

async function awaitStreamEnds(timeoutMs: number): Promise<LoadReport> {
  await until(() => openStreamsList.every((stream) => !stream.busy), timeoutMs);
  for (const stream of openStreamsList) stream.socket.destroy();
  return { ...reportOf(streamTally), count: endedStreams };
}

async function until(reached: () => boolean, timeoutMs: number = OPEN_TIMEOUT_MS): Promise<void> {
  const endMs = systemClock.monotonicMs() + timeoutMs;
  while (!reached()) {
    if (systemClock.monotonicMs() > endMs) throw new Error(`not reached within ${timeoutMs} ms`);
    await sleep(10);
  }
}
