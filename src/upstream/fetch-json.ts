import { Client, type Dispatcher } from "undici";

import { type Clock, type Deadline, type Deadlines, HeldBytes, tryParse } from "../kernel/index.ts";
import {
  type FindAddresses,
  guardedLookup,
  isPrivateAddress,
  isPrivateHost,
  NAME_FAULTS,
  NamesBusyError,
} from "./address-guard.ts";
import { isUncompressed, type UpstreamHandler } from "./upstream-client.ts";

export interface FetchInput {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly totalMs: number;
  /** Maximum size of the answer in bytes. A longer answer is treated as no answer. */
  readonly bytesMax: number;
  readonly send: (handler: UpstreamHandler) => void;
}

export interface RunningFetch<T> {
  /** Resolves with undefined if no readable answer comes within the limits. Never rejects. */
  readonly ended: Promise<T | undefined>;
  abandon(): void;
}

export type RunningJsonFetch = RunningFetch<unknown>;

export interface FetchedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Empty unless the status is 2xx: other bodies are not read. */
  readonly body: Buffer;
}

/** Sends one request that is not an attempt: it has no failover and no charge. */
export function fetchAnswer(input: FetchInput): RunningFetch<FetchedAnswer> {
  const run = new FetchRun(input);
  input.deadlines.watch(run);
  // The program shuts down, so the fetch has ended already.
  if (run.watchedAt === -1) return run;
  try {
    input.send(run);
  } catch {
    run.onRefused();
  }
  return run;
}

/** Resolves with undefined unless the status is 2xx and the body is JSON. */
export function fetchJson(input: FetchInput): RunningJsonFetch {
  const run = fetchAnswer(input);
  return {
    ended: run.ended.then((answer) =>
      answer === undefined || answer.status >= 300
        ? undefined
        : tryParse(answer.body.toString())?.value,
    ),
    abandon: () => run.abandon(),
  };
}

class FetchRun implements UpstreamHandler, RunningFetch<FetchedAnswer>, Deadline {
  dueMs: number;
  watchedAt = -1;

  readonly #input: FetchInput;
  #resolve: (answer: FetchedAnswer | undefined) => void = () => {};
  readonly ended = new Promise<FetchedAnswer | undefined>((resolve) => (this.#resolve = resolve));
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #head: Omit<FetchedAnswer, "body"> | undefined;
  #held = new HeldBytes();

  constructor(input: FetchInput) {
    this.#input = input;
    this.dueMs = input.clock.monotonicMs() + input.totalMs;
  }

  abandon(): void {
    this.#giveUp(undefined);
  }

  onCut(): void {
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
    // The fetch may have ended while the request waited for a connection.
    if (this.#isOver) controller.abort(new Error("this answer is no longer needed"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: FetchedAnswer["headers"],
  ): void {
    if (status < 200) return;
    if (status >= 300) this.#giveUp({ status, headers, body: NO_BYTES });
    else if (!isUncompressed(headers)) this.#giveUp(undefined);
    else this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#held.add(chunk);
    if (this.#held.length > this.#input.bytesMax) this.#giveUp(undefined);
  }

  onResponseEnd(): void {
    if (this.#head !== undefined) this.#end({ ...this.#head, body: this.#held.joined() });
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
    this.#held = new HeldBytes();
    this.#input.deadlines.unwatch(this);
    this.#resolve(answer);
  }
}

const NO_BYTES = Buffer.alloc(0);

export type PostEnd =
  | { readonly kind: "answered"; readonly status: number }
  /** Why there was no answer: a short text for people, without anything that the receiver sent. */
  | { readonly kind: "unanswered"; readonly fault: string };

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time limit for everything, from connecting to the end of the answer. */
  readonly timeoutMs: number;
  /** Allows loopback and private addresses, for development and tests. */
  readonly allowPrivate: boolean;
  readonly find: FindAddresses;
}

/** The connection is closed once about this many bytes of the answer's body have been read. */
const ANSWER_BYTES_MAX = 4_096;

/**
 * Sends one POST to a URL from a customer, on a new connection. Unless `allowPrivate`, refuses to
 * connect to a private address. Follows no redirect, and keeps only the status. Never rejects.
 */
export async function postOnce(post: Post): Promise<PostEnd> {
  const { url, headers, body, timeoutMs, allowPrivate, find } = post;
  if (!allowPrivate && isPrivateHost(url.hostname)) return { kind: "unanswered", fault: PRIVATE };
  const client = new Client(url.origin, {
    connect: { timeout: timeoutMs, lookup: guardedLookup(find, allowPrivate) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { statusCode, body: answer } = await client.request({
      path: url.pathname + url.search,
      method: "POST",
      headers,
      body,
      signal,
    });
    // A failure while the body is read does not matter, because the status is known.
    await answer.dump({ limit: ANSWER_BYTES_MAX, signal }).catch(() => undefined);
    return { kind: "answered", status: statusCode };
  } catch (fault) {
    return { kind: "unanswered", fault: faultText(fault, timeoutMs) };
  } finally {
    await client.destroy();
  }
}

/** Returns false if the name does not resolve, `busy` if its owner has too many look-ups. */
export async function resolvesToPrivate(
  hostname: string,
  find: FindAddresses,
): Promise<boolean | "busy"> {
  try {
    return (await find(hostname)).some(({ address }) => isPrivateAddress(address));
  } catch (fault) {
    return fault instanceof NamesBusyError && "busy";
  }
}

const PRIVATE = "not sent: the address is private";

const CERTIFICATE_FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^ERR_TLS_CERT_ALTNAME_/, "the certificate is that of another host"],
  [/^CERT_HAS_EXPIRED$/, "the certificate has expired"],
  [
    /^(CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(GET|VERIFY|DECODE)_|INVALID_)/,
    "the certificate is not valid",
  ],
];

function faultText(fault: unknown, timeoutMs: number): string {
  const { name, code = "" } = fault as { readonly name?: string; readonly code?: unknown };
  const text = String(code);
  if (text === "PRIVATE_ADDRESS") return PRIVATE;
  if (name === "TimeoutError" || text.endsWith("_TIMEOUT")) {
    return `no answer within ${timeoutMs / 1_000} seconds`;
  }
  if (NAME_FAULTS.has(text)) return "the name does not resolve";
  const certificate = CERTIFICATE_FAULTS.find(([pattern]) => pattern.test(text));
  if (certificate !== undefined) return `not sent: ${certificate[1]} (${text})`;
  return /^[A-Z][A-Z0-9_]{2,60}$/.test(text) ? `no connection (${text})` : "no connection";
}
