import type { Dispatcher } from "undici";

import type { Deployment } from "../../src/catalog/catalog.ts";
import type { AttemptId, RequestId } from "../../src/kernel/core/ids.ts";
import type { AttemptHandler } from "../../src/upstream/run-attempt.ts";
import { type SentAttempt, UpstreamClient } from "../../src/upstream/upstream-client.ts";
import { answerTo, type SimAnswer, type SimUsage } from "../../src/dev/simulator/answer.ts";
import { chatDialect, messagesDialect } from "../../src/dev/simulator/dialects.ts";
import type { Dialect, Envelope, Frame } from "../../src/dev/simulator/dialect.ts";
import { isObject, type JsonObject } from "../../src/dev/simulator/json.ts";
import { toBytes } from "../fixtures/modality/request-kit.ts";
import type { UpstreamRequest } from "../../src/formats/wire/modality.ts";
import type { Faults } from "./faults.ts";
import type { Random } from "./random.ts";
import type { Actor, VirtualTime } from "./virtual-time.ts";

interface ProviderFixture {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly faults: Faults;
  note(line: string): void;
  fail(violation: string): void;
}

/** The provider's record of one dispatch, which is compared with the books. */
export interface Served {
  readonly deployment: Deployment;
  readonly requestId: RequestId;
  /** The usage in its answer, before any fault cuts it; undefined if it reports none. */
  usage: SimUsage | undefined;
  /** True once the last byte of its answer was sent. */
  isWhole: boolean;
}

/** One event that the transport reports to the handler, `afterMs` after the event before it. */
interface Move {
  readonly label: string;
  readonly afterMs: number;
  readonly run: (call: ProviderCall) => void;
}

const PIECE_BYTES_MAX = 160;
/** Longer than every time limit of every scenario, in milliseconds. */
const NEVER_MS = 3_600_000;
const REQUEST_MARK = /request ([0-9a-f-]{36})/;

/**
 * Providers of both wires in place of the upstream client, without sockets: they report to an
 * attempt's handler in virtual time what undici would report. `onDispatch` is called when an
 * attempt is sent.
 */
export class SimulatedProviders extends UpstreamClient {
  readonly #simulation: ProviderFixture;
  readonly #caller: Actor;
  readonly #onDispatch: (served: Served, attemptId: AttemptId | undefined) => void;
  readonly #calls: Set<ProviderCall> = new Set();
  #isClosed = false;

  constructor(
    simulation: ProviderFixture,
    caller: Actor,
    onDispatch: (served: Served, attemptId: AttemptId | undefined) => void,
  ) {
    super({ allowPrivateUpstreams: true, providerKey: () => undefined });
    this.#simulation = simulation;
    this.#caller = caller;
    this.#onDispatch = onDispatch;
  }

  override send(
    deployment: Deployment,
    request: UpstreamRequest,
    handler: AttemptHandler,
    { attemptId }: SentAttempt = {},
  ): void {
    if (this.#caller.isDead) return;
    const simulation = this.#simulation;
    const served: Served = {
      deployment,
      requestId: requestOf(toBytes(request.body)),
      usage: undefined,
      isWhole: false,
    };
    this.#onDispatch(served, attemptId);
    const moves = this.#isClosed
      ? [broken("connections are closed", 0, "UND_ERR_DESTROYED")]
      : new Script(simulation, deployment, request, served).moves();
    const call = new ProviderCall(simulation.time, this.#caller, handler, moves);
    this.#calls.add(call);
    call.start();
  }

  /** Breaks the open exchanges, as destroying the connections would. */
  override close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#calls) {
      call.break(Object.assign(new Error("destroyed"), { code: "UND_ERR_DESTROYED" }));
    }
    return Promise.resolve();
  }
}

/** Reads the request id from the prompt, which every wire passes on unchanged. */
function requestOf(body: Buffer): RequestId {
  const id = REQUEST_MARK.exec(body.toString())?.[1];
  if (id === undefined) throw new Error("the prompt does not name its request");
  return id as RequestId;
}

/** Plans the answer to one dispatch, including its faults. */
class Script {
  readonly #simulation: ProviderFixture;
  readonly #deployment: Deployment;
  readonly #request: UpstreamRequest;
  readonly #served: Served;
  readonly #dialect: Dialect;

  constructor(
    simulation: ProviderFixture,
    deployment: Deployment,
    request: UpstreamRequest,
    served: Served,
  ) {
    this.#simulation = simulation;
    this.#deployment = deployment;
    this.#request = request;
    this.#served = served;
    this.#dialect = deployment.baseUrl.includes("birch") ? messagesDialect : chatDialect;
  }

  moves(): readonly Move[] {
    const { faults, random } = this.#simulation;
    if (faults.strikes("provider: refuses the connection")) {
      return [broken("provider refuses", random.between(1, 50), "ECONNREFUSED")];
    }
    const connected: Move = {
      label: "provider connected",
      afterMs: random.between(0, 20),
      run: (call) => call.handler.onRequestStart?.(call.controller, {}),
    };
    if (faults.strikes("provider: resets before headers")) {
      return [connected, broken("provider resets", random.between(1, 200), "ECONNRESET")];
    }
    if (faults.strikes("provider: hangs before headers")) return [connected, nothingMore()];
    return [connected, ...this.#answered()];
  }

  #answered(): readonly Move[] {
    const { faults, random } = this.#simulation;
    const isSlow = faults.strikes("provider: slow headers");
    const waitMs = isSlow ? random.between(1_000, 15_000) : random.between(5, 400);
    const body: unknown = JSON.parse(toBytes(this.#request.body).toString());
    if (!isObject(body)) throw new Error("the body is a JSON object");
    const problem = this.#dialect.findProblem(body, this.#request.headers);
    if (problem !== undefined) {
      // The providers are strict: the gateway must encode a legal request.
      this.#simulation.fail(`${this.#deployment.id} refused the request: ${problem.message}`);
    }
    const { failed, overloaded, content_filter: refused } = this.#dialect.troubles;
    if (faults.strikes("provider: answers 5xx")) {
      return this.#refusal(waitMs, random.chance(0.5) ? failed : overloaded);
    }
    if (faults.strikes("provider: answers 429")) {
      return this.#refusal(waitMs, { status: 429, message: "Rate limit reached" });
    }
    if (faults.strikes("provider: refuses the content")) return this.#refusal(waitMs, refused);
    return this.#success(waitMs, body);
  }

  #refusal(waitMs: number, error: { status: number; message: string }): readonly Move[] {
    const json = JSON.stringify(this.#dialect.error(error));
    return [
      headers(waitMs, error.status, "application/json"),
      ...this.#pieces(Buffer.from(json)),
      this.#end(),
    ];
  }

  #success(waitMs: number, body: JsonObject): readonly Move[] {
    const { faults, random } = this.#simulation;
    const request = this.#dialect.read(body);
    const answer = this.#answerTo(answerTo(request));
    const isSilent = faults.strikes("provider: reports no usage");
    const envelope: Envelope = {
      serial: random.hex(16),
      createdS: 0,
      model: request.model,
      includeUsage: request.includeUsage,
      usage: isSilent ? null : {},
    };
    this.#served.usage = isSilent ? undefined : answer.usage;
    const isUnreadable = faults.strikes("provider: answer is unreadable");
    const text = request.stream
      ? this.#dialect.frames(answer, envelope).map(frameText).join("")
      : JSON.stringify(this.#dialect.json(answer, envelope));
    const bytes = Buffer.from(isUnreadable ? text.replaceAll("{", "<") : text);
    if (isUnreadable) this.#served.usage = undefined;
    const type = request.stream ? "text/event-stream" : "application/json";
    return [headers(waitMs, 200, type), ...this.#withAccidents(this.#pieces(bytes))];
  }

  /** Repeats the provider's letter as text, to tell providers apart; may report costlier usage. */
  #answerTo(answer: SimAnswer): SimAnswer {
    const letter = this.#deployment.providerId.charAt(0);
    const text = letter.repeat(Math.max(1, answer.text.length));
    const { faults, random } = this.#simulation;
    const isDear = faults.strikes("provider: costs more than the reserve");
    const output = answer.usage.output + (isDear ? random.between(10_000, 150_000) : 0);
    return { ...answer, text, usage: { ...answer.usage, output } };
  }

  #withAccidents(pieces: readonly Move[]): readonly Move[] {
    const { faults, random } = this.#simulation;
    const cut = random.between(0, pieces.length - 1);
    if (faults.strikes("provider: stream dies")) {
      const isClean = random.chance(0.3);
      const last = isClean ? this.#end(false) : broken("provider breaks off", 1, "ECONNRESET");
      return [...pieces.slice(0, cut), last];
    }
    if (faults.strikes("provider: hangs in the body")) {
      return [...pieces.slice(0, cut), nothingMore()];
    }
    return [...pieces, this.#end()];
  }

  /** Splits bytes at random places. */
  #pieces(bytes: Buffer): readonly Move[] {
    const { random } = this.#simulation;
    const gapMsMax = random.pick([1, 5, 40, 400]);
    const moves: Move[] = [];
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + random.between(1, PIECE_BYTES_MAX));
      at += piece.length;
      moves.push({
        label: "provider bytes",
        afterMs: random.between(0, gapMsMax),
        run: (call) => call.handler.onResponseData?.(call.controller, piece),
      });
    }
    return moves;
  }

  #end(isWhole = true): Move {
    return {
      label: "provider ends",
      afterMs: this.#simulation.random.between(0, 3),
      run: (call) => {
        this.#served.isWhole = isWhole;
        call.end();
      },
    };
  }
}

/** Returns one event as it is written in a stream. */
export function frameText({ event, data }: Frame): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;
}

function headers(afterMs: number, status: number, type: string): Move {
  return {
    label: "provider headers",
    afterMs,
    run: (call) =>
      call.handler.onResponseStart?.(call.controller, status, { "content-type": type }, ""),
  };
}

function broken(label: string, afterMs: number, code: string): Move {
  const run = (call: ProviderCall): void => call.break(Object.assign(new Error(code), { code }));
  return { label, afterMs, run };
}

function nothingMore(): Move {
  return { label: "provider hangs", afterMs: NEVER_MS, run: () => undefined };
}

/** One exchange with a provider, reported to its handler as undici would do it. */
class ProviderCall {
  readonly handler: AttemptHandler;
  readonly controller: Dispatcher.DispatchController;
  readonly #time: VirtualTime;
  readonly #caller: Actor;
  readonly #moves: readonly Move[];
  #at = 0;
  #isOver = false;
  #isPaused = false;
  #isWaiting = false;

  constructor(time: VirtualTime, caller: Actor, handler: AttemptHandler, moves: readonly Move[]) {
    this.#time = time;
    this.#caller = caller;
    this.handler = handler;
    this.#moves = moves;
    this.controller = this.#makeController();
  }

  start(): void {
    const move = this.#moves[this.#at];
    if (move === undefined) return;
    this.#time.schedule(this.#caller, move.afterMs, move.label, () => this.#play(move));
  }

  end(): void {
    this.#isOver = true;
    this.handler.onResponseEnd?.(this.controller, {});
  }

  break(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.handler.onResponseError?.(this.controller, error);
  }

  #play(move: Move): void {
    if (this.#isOver) return;
    if (this.#isPaused) {
      this.#isWaiting = true;
      return;
    }
    this.#at += 1;
    try {
      move.run(this);
    } catch (fault) {
      // An exception that a handler throws ends its own request and nothing else.
      this.break(fault instanceof Error ? fault : new Error(String(fault)));
    }
    if (!this.#isOver) this.start();
  }

  #makeController(): Dispatcher.DispatchController {
    const isOver = (): boolean => this.#isOver;
    const isPaused = (): boolean => this.#isPaused;
    return {
      get aborted() {
        return isOver();
      },
      get paused() {
        return isPaused();
      },
      reason: null,
      abort: (reason) => this.break(reason),
      pause: () => {
        this.#isPaused = true;
      },
      resume: () => {
        this.#isPaused = false;
        if (!this.#isWaiting) return;
        this.#isWaiting = false;
        this.start();
      },
    };
  }
}
