import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { unreachable } from "../src/kernel/core/assert.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import { AnswerReader } from "./answer-reader.ts";
import { requestBytes, withKey } from "./endpoint.ts";
import type { Destination, LoadJob, LoadReport, RequestLoad, Watched } from "./load-job.ts";
import { readCpuNs } from "../test/support/process-cost.ts";

/**
 * The load generator: a process of its own that takes one `LoadJob` at a time over IPC and answers
 * with a `LoadReport`. It reads the processor time of the watched processes itself, at the very
 * moments it starts and stops counting.
 */

// Streams are opened in groups, so that no listen queue overflows and the count is exact.
const OPENED_AT_ONCE = 50;
const OPEN_TIMEOUT_MS = 20_000;

process.on("message", (job) => void answerJob(job as LoadJob));
process.on("disconnect", () => process.exit(0));

async function answerJob(job: LoadJob): Promise<void> {
  try {
    process.send?.({ report: await runJob(job) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) });
  }
}

function runJob(job: LoadJob): Promise<LoadReport> {
  switch (job.kind) {
    case "closed_loop":
      return runClosedLoop(job);
    case "paced":
      return runPaced(job, job.requestsPerSecond);
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

/** As many requests as the target can answer, one at a time on every connection. */
async function runClosedLoop(job: RequestLoad & Watched): Promise<LoadReport> {
  const next = requestsInTurn(job);
  const tally = new Tally();
  let running = true;
  const connections = await openConnections(job, tally, (connection) => {
    tally.answered += 1;
    if (running) send(connection, next());
  });
  for (const connection of connections) send(connection, next());
  await sleep(job.warmupMs);
  const report = await watch(job, job.windowMs, tally);
  running = false;
  await closeConnections(connections);
  return report;
}

/** The bytes of each request to send: the customers of the job take turns. */
function requestsInTurn({ endpoint, body, keys }: Destination): () => Buffer {
  const endpoints = keys === undefined ? [endpoint] : keys.map((key) => withKey(endpoint, key));
  const requests = endpoints.map((each) => requestBytes(each, body));
  let sent = 0;
  return () => requests[sent++ % requests.length] ?? Buffer.alloc(0);
}

/** A fixed number of requests per second, each timed from its sending. */
async function runPaced(
  job: RequestLoad & Watched,
  requestsPerSecond: number,
): Promise<LoadReport> {
  const bytes = requestBytes(job.endpoint, job.body);
  const tally = new Tally();
  const idle: Connection[] = [];
  const connections = await openConnections(job, tally, (connection) => {
    tally.answered += 1;
    tally.latenciesMs.push(systemClock.monotonicMs() - connection.sentAtMs);
    idle.push(connection);
  });
  idle.push(...connections);
  const startMs = systemClock.monotonicMs();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((systemClock.monotonicMs() - startMs) / 1_000) * requestsPerSecond;
    for (; sent < due; sent += 1) {
      const connection = idle.shift();
      if (connection === undefined) tally.fail("no idle connection: the target is too slow");
      else send(connection, bytes);
    }
  }, 1);
  await sleep(job.warmupMs);
  tally.latenciesMs.length = 0;
  const report = await watch(job, job.windowMs, tally);
  clearInterval(timer);
  await closeConnections(connections);
  return report;
}

async function watch(watched: Watched, windowMs: number, tally: Tally): Promise<LoadReport> {
  const before = tally.answered;
  const startMs = systemClock.monotonicMs();
  const startNs = readCpuNs(watched.processIds);
  const startHelperNs = readCpuNs(watched.helperProcessIds);
  const startRedisNs = readCpuNs(watched.redisProcessIds);
  await sleep(windowMs);
  const cpuNs = readCpuNs(watched.processIds) - startNs;
  const helperCpuNs = readCpuNs(watched.helperProcessIds) - startHelperNs;
  const redisCpuNs = readCpuNs(watched.redisProcessIds) - startRedisNs;
  const count = tally.answered - before;
  const endMs = systemClock.monotonicMs();
  const windowed = endMs - startMs;
  return { ...reportOf(tally), count, windowMs: windowed, cpuNs, helperCpuNs, redisCpuNs };
}

function reportOf(tally: Tally): LoadReport {
  const sorted = tally.latenciesMs.toSorted((a, b) => a - b);
  return {
    count: tally.answered,
    windowMs: 0,
    cpuNs: 0,
    helperCpuNs: 0,
    redisCpuNs: 0,
    failures: tally.failures,
    firstFailure: tally.firstFailure,
    p50Ms: sorted[Math.floor(sorted.length * 0.5)] ?? 0,
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
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => socket.destroy());
  return { socket, answer: new AnswerReader(), busy: false, sentAtMs: 0 };
}

function send(connection: Connection, bytes: Buffer): void {
  connection.answer.reset();
  connection.busy = true;
  connection.sentAtMs = systemClock.monotonicMs();
  connection.socket.write(bytes);
}

/** Lets every request in flight end, so that the next measurement starts on a quiet target. */
async function closeConnections(connections: readonly Connection[]): Promise<void> {
  const endMs = systemClock.monotonicMs() + 5_000;
  while (connections.some((c) => c.busy && !c.socket.destroyed)) {
    if (systemClock.monotonicMs() > endMs) break;
    await sleep(5);
  }
  for (const connection of connections) {
    connection.busy = false;
    connection.socket.destroy();
  }
}

let openStreamsList: Connection[] = [];
let streamTally = new Tally();
let openedStreams = 0;
let endedStreams = 0;

/** Opens the streams and answers when the first event of every one of them has arrived. */
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
  const lastEvent = path.endsWith("/messages") ? '"message_stop"' : "data: [DONE]";
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
