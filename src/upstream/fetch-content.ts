import type { Dispatcher } from "undici";

import type { Deployment } from "../catalog/index.ts";
import { type Clock, type Deadline, type Deadlines, defined } from "../kernel/index.ts";
import { isUncompressed, type UpstreamClient, type UpstreamHandler } from "./upstream-client.ts";

export interface ContentSink {
  /** True after `begin` has written the head. */
  readonly committed: boolean;
  /** Called at most once, and before the first `write`. */
  begin(head: ContentHead): void;
  /** Returns false if the client is slow; the provider is then paused until `resume`. */
  write(chunk: Buffer): boolean;
}

export interface ContentInput {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly upstream: Pick<UpstreamClient, "get" | "getElsewhere">;
  readonly deployment: Deployment;
  /** The path below the deployment's base URL. */
  readonly path: string;
  /** Values of the `Range` and `If-Range` headers; without `range`, the whole file is read. */
  readonly range?: string;
  readonly ifRange?: string;
  readonly headOnly: boolean;
  /** Maximum silence of the provider in ms before its headers. In the body, up to twice as long. */
  readonly idleMs: number;
  /** Maximum time of the whole transfer in ms, however slowly it is read. Default: unlimited. */
  readonly totalMs?: number;
  /** Maximum size of the file in bytes. A larger file is refused or broken off. */
  readonly bytesMax: number;
  readonly sink: ContentSink;
}

/** How a transfer ended. After `begin`, only `complete` and `broken` are possible. */
export type ContentEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "broken"; readonly reason: string }
  /** A status above 299, unless it is a followed redirect, or an answer with `unusableReason`. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly headers: Headers;
      /** True if a redirect had left the provider, so that the answer is of another host. */
      readonly isAway: boolean;
      readonly unusableReason?: string;
    }
  | { readonly kind: "unreachable"; readonly error: Error }
  | { readonly kind: "silent" };

export interface RunningContent {
  /** Never rejects. */
  readonly ended: Promise<ContentEnd>;
  /** Call it when the client can take more data. */
  resume(): void;
  /** Call it when the client has disconnected. */
  abandon(): void;
}

const REDIRECTS_MAX = 3;

/**
 * Passes a provider's file through as it arrives. Follows up to 3 redirects, and no longer sends
 * the provider's key once a redirect has left the provider's origin.
 */
export function fetchContent(input: ContentInput): RunningContent {
  const run = new ContentRun(input);
  input.deadlines.watch(run);
  // If the program shuts down, the transfer has ended already.
  if (run.watchedAt !== -1) run.start();
  return run;
}

class ContentRun implements RunningContent, Deadline {
  dueMs: number;
  watchedAt = -1;

  readonly #input: ContentInput;
  readonly #home: URL;
  readonly #endMs: number;
  #resolve: (end: ContentEnd) => void = () => {};
  readonly ended = new Promise<ContentEnd>((resolve) => (this.#resolve = resolve));
  #controller: Dispatcher.DispatchController | undefined;
  #hop = 0;
  #url: URL;
  #isAway = false;
  #isOver = false;
  #sawData = false;
  #bytes = 0;

  constructor(input: ContentInput) {
    this.#input = input;
    this.#home = new URL(input.deployment.baseUrl + input.path);
    this.#url = this.#home;
    const nowMs = input.clock.monotonicMs();
    this.dueMs = nowMs + input.idleMs;
    this.#endMs = nowMs + (input.totalMs ?? Number.POSITIVE_INFINITY);
  }

  start(): void {
    const { upstream, deployment, path, range, ifRange } = this.#input;
    const headers = {
      accept: "*/*",
      ...defined({ range, "if-range": range === undefined ? undefined : ifRange }),
    };
    const handler = this.#buildHandler(this.#hop);
    try {
      if (this.#isAway) upstream.getElsewhere(this.#url, headers, handler);
      else {
        upstream.get(deployment, { path: this.#hop === 0 ? path : this.#url, headers }, handler);
      }
    } catch (error) {
      handler.onRefused(error instanceof Error ? error : new Error(String(error)));
    }
  }

  resume(): void {
    if (this.#controller?.paused === true) this.#controller.resume();
  }

  abandon(): void {
    this.#failed(new Error("the reader has ended"));
  }

  onCut(): void {
    this.#failed(new Error("the program shuts down"));
  }

  onDue(nowMs: number): void {
    // A paused provider is silent because the client is slow. The client has its own time limit.
    const isOver = nowMs >= this.#endMs;
    if (!isOver && (this.#sawData || this.#controller?.paused === true)) {
      this.#sawData = false;
      this.dueMs = Math.min(nowMs + this.#input.idleMs, this.#endMs);
      return;
    }
    const reason = isOver ? "the transfer took too long" : "the provider is silent";
    this.#end(this.#input.sink.committed ? { kind: "broken", reason } : { kind: "silent" });
  }

  /** Returns a handler that ignores the events of a request that was redirected or has ended. */
  #buildHandler(hop: number): UpstreamHandler {
    const counts = (): boolean => hop === this.#hop && !this.#isOver;
    return {
      onRequestStart: (controller) => {
        if (counts()) this.#controller = controller;
        else controller.abort(new Error("this answer is no longer needed"));
      },
      onResponseStart: (_controller, status, headers) => {
        if (counts() && status >= 200) this.#answered(status, headers);
      },
      onResponseData: (_controller, chunk) => {
        if (counts()) this.#take(chunk);
      },
      onResponseEnd: () => {
        if (counts() && this.#input.sink.committed) this.#end({ kind: "complete" });
      },
      onResponseError: (_controller, error) => {
        if (counts()) this.#failed(error);
      },
      onRefused: (error) => {
        if (counts()) this.#failed(error);
      },
    };
  }

  #answered(status: number, headers: Headers): void {
    const { range, headOnly, idleMs, clock, bytesMax, sink } = this.#input;
    this.dueMs = Math.min(clock.monotonicMs() + idleMs, this.#endMs);
    const target = redirectTarget(status, headers, this.#url);
    if (target !== undefined) return this.#follow(target, { status, headers });
    const read = readContentHead(status, headers, { isPart: range !== undefined, bytesMax });
    if (!read.ok) {
      const reason = defined({ unusableReason: read.unusableReason });
      return this.#end({ kind: "refused", status, headers, isAway: this.#isAway, ...reason });
    }
    sink.begin(read.head);
    // A 416 refuses the range, so its body is not the file.
    if (headOnly || status === 416) this.#end({ kind: "complete" });
  }

  #follow(target: URL, answer: Pick<ContentEnd & { kind: "refused" }, "status" | "headers">): void {
    if (this.#hop === REDIRECTS_MAX) {
      const unusableReason = `more than ${REDIRECTS_MAX} redirects`;
      return this.#end({ kind: "refused", ...answer, isAway: this.#isAway, unusableReason });
    }
    const left = this.#controller;
    this.#hop += 1;
    this.#url = target;
    this.#isAway ||= target.origin !== this.#home.origin;
    this.#controller = undefined;
    left?.abort(new Error("the answer is elsewhere"));
    this.start();
  }

  #take(chunk: Buffer): void {
    if (!this.#input.sink.committed) return;
    this.#sawData = true;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#input.bytesMax) {
      return this.#end({ kind: "broken", reason: "the file is too large" });
    }
    if (!this.#input.sink.write(chunk)) this.#controller?.pause();
  }

  #failed(error: Error): void {
    const { committed } = this.#input.sink;
    this.#end(
      committed ? { kind: "broken", reason: error.message } : { kind: "unreachable", error },
    );
  }

  #end(end: ContentEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#input.deadlines.unwatch(this);
    this.#resolve(end);
    if (this.#controller?.aborted === false) {
      this.#controller.abort(new Error("this answer is no longer needed"));
    }
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface ContentHead {
  readonly status: 200 | 206 | 416;
  /** The headers that describe the file, with names in lower case. */
  readonly contentHeaders: Readonly<Record<string, string>>;
}

/** Without `unusableReason`, the answer was refused for its status: above 299 and not 416. */
type ReadHead =
  | { readonly ok: true; readonly head: ContentHead }
  | { readonly ok: false; readonly unusableReason?: string };

function readContentHead(
  status: number,
  headers: Headers,
  wanted: { readonly isPart: boolean; readonly bytesMax: number },
): ReadHead {
  if (status !== 200 && status !== 206 && status !== 416) {
    return status < 300 ? unusable(`status ${status}`) : { ok: false };
  }
  if (status !== 200 && !wanted.isPart) return unusable("a part that was not requested");
  if (status === 416) {
    const contentHeaders = { ...pick(headers, RANGE), "content-length": "0" };
    return { ok: true, head: { status, contentHeaders } };
  }
  if (!isUncompressed(headers))
    return unusable(`encoding ${cleanValue(headers, "content-encoding")}`);
  const type = cleanValue(headers, "content-type") ?? "";
  if (!mayBeVideo(type)) return unusable(`content type ${type}`);
  const length = cleanValue(headers, "content-length");
  if (length !== undefined && Number(length) > wanted.bytesMax) return unusable(`${length} bytes`);
  if (status === 206 && cleanValue(headers, "content-range") === undefined) {
    return unusable("a part that does not say which");
  }
  const contentHeaders = {
    ...pick(headers, PASSED),
    ...(status === 206 && pick(headers, RANGE)),
    "content-type": isVideo(type) ? type : "application/octet-stream",
  };
  return { ok: true, head: { status, contentHeaders } };
}

function unusable(unusableReason: string): ReadHead {
  return { ok: false, unusableReason };
}

function redirectTarget(status: number, headers: Headers, from: URL): URL | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const location = cleanValue(headers, "location");
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  return new URL(location, from.href);
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const PASSED = ["content-length", "accept-ranges", "etag", "last-modified"];
const RANGE = ["content-range"];

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = cleanValue(headers, name);
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

function isVideo(type: string): boolean {
  return /^video\/[\w.+-]+\s*(;|$)/i.test(type);
}

/** False for text, multipart and the usual JSON and XML types, which are an error or a link. */
function mayBeVideo(type: string): boolean {
  return !/^\s*(text\/|application\/(json|xml|xhtml|problem)|multipart\/)/i.test(type);
}

/** Returns the first value of a header if it is printable ASCII, so that it can be passed on. */
function cleanValue(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  const first = (Array.isArray(value) ? value[0] : value)?.trim();
  return first !== undefined && /^[\x20-\x7e]+$/.test(first) ? first : undefined;
}
