import { expect, test } from "vitest";

import { Deadlines, systemClock } from "../kernel/core/time.ts";
import { refusal } from "../kernel/core/refusals.ts";
import type { AnswerBridge, Output } from "../formats/wire/answer/answer-bridge.ts";
import type { UpstreamFailure } from "../formats/wire/failure/failures.ts";
import { runAttempt, type AttemptHandler, type RunningAttempt } from "./run-attempt.ts";

const DRAIN_MS = 1_000;
const STREAM_BYTES_MAX = 100;

function failureOf(name: string): UpstreamFailure {
  const says = refusal("upstream_error", name);
  return { refusal: says, failover: true, strike: "strike", isMalformed: true };
}

/** A bridge for which all bytes are output, until the provider sends `end`. */
class EchoBridge implements AnswerBridge {
  readonly usageFlaw: undefined;
  readonly hasWrongFinish = false;
  state: AnswerBridge["state"] = "waiting";
  readonly contentType = "text/event-stream";
  readonly usage = undefined;
  readonly reportedCostUsd = undefined;
  readonly servedModel = undefined;
  readonly failure = undefined;
  #ready: Output | undefined;

  push(bytes: Buffer): void {
    const text = bytes.toString();
    if (text === "ping") return;
    this.state = text === "end" ? "complete" : "flowing";
    this.#ready = text;
  }
  end(): void {
    this.state = "complete";
  }
  takeOutput(): Output | undefined {
    const ready = this.#ready;
    this.#ready = undefined;
    return ready;
  }
  finish(): string {
    return "";
  }
  fail(): string {
    return "";
  }
  keepAlive(): undefined {
    return undefined;
  }
}

/** An attempt whose transport and time are driven by the test. */
function scriptedAttempt() {
  const time = { ms: 0 };
  const written: Output[] = [];
  const sink = {
    committed: false,
    isFull: false,
    write(output: Output) {
      sink.committed = true;
      written.push(output);
      return !sink.isFull;
    },
    commit() {
      sink.committed = true;
      written.push("begun");
    },
  };
  const aborted: string[] = [];
  let handler: AttemptHandler | undefined;
  const controller = {
    paused: false,
    get aborted() {
      return aborted.length > 0;
    },
    abort: (reason: Error) => void aborted.push(reason.message),
    pause: () => undefined,
    resume: () => undefined,
  } as unknown as Parameters<NonNullable<AttemptHandler["onRequestStart"]>>[0];
  const clock = { ...systemClock, monotonicMs: () => time.ms };
  const named = (name: string) => (): UpstreamFailure => failureOf(name);
  const running = runAttempt({
    clock,
    deadlines: new Deadlines(clock),
    timeouts: {
      headersMs: 20_000,
      idleMs: 20_000,
      totalMs: 90_000,
      firstContentMs: 60_000,
      drainMs: DRAIN_MS,
    },
    commitDueMs: 45_000,
    stream: true,
    streamBytesMax: STREAM_BYTES_MAX,
    sink,
    openBridge: () => new EchoBridge(),
    classify: {
      answer: ({ headers, body }) =>
        failureOf(`${String(headers["retry-after"])}: ${body.toString()}`),
      connection: named("connection"),
      timeout: named("timeout"),
      brokenBody: named("broken body"),
      endless: named("endless"),
      abandoned: named("abandoned"),
    },
    send: (given) => (handler = given),
  });
  return {
    running: running as RunningAttempt & { onDue(nowMs: number): void },
    time,
    sink,
    written,
    aborted,
    connected: () => handler?.onRequestStart?.(controller, {}),
    headers: (status = 200, more: Readonly<Record<string, string | string[]>> = {}) => {
      const all = { "content-type": "text/event-stream", ...more };
      handler?.onResponseStart?.(controller, status, all, "");
    },
    bytes: (text: string) => handler?.onResponseData?.(controller, Buffer.from(text)),
    bodyEnd: () => handler?.onResponseEnd?.(controller, {}),
    bodyError: () => handler?.onResponseError?.(controller, new Error("reset")),
    isUnwanted: () => handler?.isUnwanted,
  };
}

/** An attempt whose provider has sent the head of its answer. */
function startedAttempt() {
  const attempt = scriptedAttempt();
  attempt.connected();
  attempt.headers();
  return attempt;
}

test("a stream that breaks after a wait for a slow client is not malformed and no strike", async () => {
  const broken = async (isFull: boolean): Promise<UpstreamFailure | undefined> => {
    const attempt = startedAttempt();
    attempt.sink.isFull = isFull;
    attempt.bytes("hello");
    attempt.running.resume();
    attempt.bodyError();
    return (await attempt.running.ended).failure;
  };
  expect(await broken(false)).toMatchObject({ strike: "strike", isMalformed: true });
  const waited = await broken(true);
  expect(waited?.strike).toBe("neutral");
  expect(waited?.isMalformed).toBeUndefined();
});

test("after a wait for a slow client, failures that the wait cannot cause are still strikes", async () => {
  const endless = startedAttempt();
  endless.sink.isFull = true;
  endless.bytes("hello");
  endless.bytes("x".repeat(STREAM_BYTES_MAX));
  const silent = startedAttempt();
  silent.sink.isFull = true;
  silent.bytes("hello");
  silent.running.onDue(90_000);
  for (const { running } of [endless, silent]) {
    const { failure } = await running.ended;
    expect(failure?.strike).toBe("strike");
    expect(failure?.isMalformed).toBeUndefined();
  }
});

test("an attempt whose client has left still counts the provider's output, and writes none", async () => {
  const left = startedAttempt();
  expect(left.isUnwanted()).toBe(false);
  left.running.detach();
  // A request that no client waits for is not sent again either.
  expect(left.isUnwanted()).toBe(true);
  left.bytes("hello");
  left.bodyError();
  expect(await left.running.ended).toMatchObject({ hasOutput: true });
  expect(left.sink.committed).toBe(false);
  expect(left.written).toEqual([]);
});

test("a request that waited for a connection is not sent after its attempt has ended", async () => {
  const { running, aborted, connected } = scriptedAttempt();
  running.abandon();
  expect(await running.ended).toMatchObject({ upstreamStatus: null });
  expect(aborted).toEqual([]);
  connected();
  expect(aborted).toHaveLength(1);
});

test("an abandoned attempt aborts its request, so that the provider generates nothing more", async () => {
  const { running, aborted, bytes } = startedAttempt();
  bytes("hello");
  running.abandon();
  expect(await running.ended).toMatchObject({ failure: { refusal: { message: "abandoned" } } });
  expect(aborted).toHaveLength(1);
});

test("after the client left, an answer is read for the drain time and no longer", async () => {
  const { running, time, bytes, aborted } = startedAttempt();
  running.detach();
  bytes("hello");
  time.ms = DRAIN_MS;
  running.onDue(time.ms);
  running.abandon();
  const failure = { refusal: { message: "abandoned" } };
  expect(await running.ended).toMatchObject({ timedOut: true, hasOutput: true, failure });
  expect(aborted).toHaveLength(1);
});

test("a stream beyond its byte bound is ended", async () => {
  const { running, bytes } = startedAttempt();
  bytes("x".repeat(STREAM_BYTES_MAX));
  bytes("x");
  running.abandon();
  expect(await running.ended).toMatchObject({ failure: { refusal: { message: "endless" } } });
});

test.each([
  ["gzip", ""],
  [["identity", "gzip"], ""],
  ["identity", "words"],
  [" Identity", "words"],
  ["", "words"],
])("the body of an error with the content-encoding %j is read as '%s'", async (encoding, read) => {
  const attempt = scriptedAttempt();
  attempt.connected();
  attempt.headers(400, { "content-encoding": encoding, "retry-after": "7" });
  attempt.bytes("words");
  attempt.bodyEnd();
  const failure = { refusal: { message: `7: ${read}` } };
  expect(await attempt.running.ended).toMatchObject({ failure, upstreamStatus: 400 });
});

test.each(["IDENTITY", " identity ", ""])(
  "an answer with the content-encoding '%s' is read, because it is not compressed",
  async (encoding) => {
    const attempt = scriptedAttempt();
    attempt.connected();
    attempt.headers(200, { "content-encoding": encoding });
    attempt.bytes("hello");
    attempt.bytes("end");
    attempt.bodyEnd();
    expect(await attempt.running.ended).toMatchObject({ failure: undefined, hasOutput: true });
  },
);
