import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, systemClock, textOf } from "../../kernel/index.ts";
import { CallLog, type CallCounts, type CallRecord, makeSerial } from "./call-log.ts";
import { listen } from "../listen.ts";
import type { Cheats } from "./cheat.ts";
import { BrokenOff, deliverJson, type Delivery, HeldAnswers } from "./deliver.ts";
import type { Dialect } from "./dialect.ts";
import { FaultBoard, requestedFault, type ChosenFault } from "./fault-board.ts";
import { type Faults, readFaults } from "./faults.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { ReceivedCall, Route } from "./received-call.ts";
import { findRoute } from "./routes.ts";
import { VideoJobs, type JobSummary } from "./videos/video-jobs.ts";

export interface SimulatorOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** Seed of the ids of answers and jobs, and of the fault `jitter`. Default "0". */
  readonly seed?: string;
  /** Fault script for every call, in the syntax of docs/simulator.md. Default: none. */
  readonly fault?: string;
  /** Serves only this wire: `wire_a` or `wire_b`. Default: both. */
  readonly wire?: string;
  /** Upstream model ids that are served. Default: all that do not start with `unknown`. */
  readonly models?: readonly string[];
  /** The cheats that the fault `cheat:NAME` may name. Default: none. */
  readonly cheats?: Cheats;
  /** Returns the variant of `dialect` of the provider at `path`. Default: `dialect` itself. */
  readonly speak?: (dialect: Dialect, wire: string, path: string) => Dialect;
  readonly clock?: Clock;
}

/** A fault, and the calls to which it applies. An absent field matches every call. */
export interface FaultRule {
  readonly method?: string;
  /** Path pattern, in which `*` matches one segment. */
  readonly path?: string;
  readonly model?: string;
  readonly fault: string;
  readonly times?: number;
}

export interface Simulator {
  readonly url: string;
  counts(): CallCounts;
  /** The last hundred generation calls and calls about video jobs, oldest first. */
  calls(): readonly CallRecord[];
  /** The last 10,000 video jobs with the counts of their calls, oldest first. */
  jobs(): readonly JobSummary[];
  /** Adds a fault for later calls; docs/simulator.md has the syntax. Throws if it is invalid. */
  script(rule: FaultRule): void;
  /** Lets all answers that the fault `hold` has stopped so far continue. */
  release(): void;
  /** Breaks off answers that are being sent, and frees the port. */
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 65_000;

/** Starts one server with providers of every kind. They behave well until a fault is set. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const router = new RequestRouter(options);
  const server = createServer((request, response) => void router.receive(request, response));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return {
    ...(await listen(server, options.port)),
    counts: () => router.log.counts(),
    calls: () => router.log.last(),
    jobs: () => router.jobs.summaries(),
    script: (rule) => {
      const complaint = router.board.add(rule);
      if (complaint !== undefined) throw new Error(complaint);
    },
    release: () => router.held.release(),
  };
}

class RequestRouter {
  readonly log = new CallLog();
  readonly board: FaultBoard;
  readonly held = new HeldAnswers();
  readonly jobs: VideoJobs;
  readonly #options: SimulatorOptions;
  readonly #clock: Clock;
  readonly #always: ChosenFault;
  readonly #startDelay: StartDelay;
  readonly #kept = new Map<string, unknown>();
  #chatAnswers = 0;

  constructor(options: SimulatorOptions) {
    const { fault = "", cheats = {} } = options;
    const reading = readFaults(fault, cheats);
    if (reading.kind === "unknown") throw new Error(reading.message);
    this.#options = options;
    this.board = new FaultBoard(cheats);
    this.#clock = options.clock ?? systemClock;
    this.jobs = new VideoJobs(this.#clock, options.seed ?? "0");
    this.#startDelay = new StartDelay(options.seed ?? "0");
    this.#always = { script: options.fault ?? null, faults: reading.faults };
  }

  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
    const { method = "GET", headers } = request;
    const route = findRoute(method, path, headers["anthropic-version"] !== undefined);
    const isServed = this.#options.wire === undefined || route?.wire === this.#options.wire;
    if (route !== undefined && isServed) {
      await this.#serve(route, { request, response, method, path, query });
      return;
    }
    try {
      const body = parseJson(await readBody(request));
      sendJson(response, this.#control(`${method} ${path}`, body));
    } catch {
      response.destroy();
    }
  }

  async #serve(route: Route, exchange: Exchange): Promise<void> {
    const { request, response, method, path, query } = exchange;
    const { headers } = request;
    const isGeneration = route.kind === "generation";
    const waitToBegin = this.#startDelay.arrive(isGeneration);
    const record =
      route.kind === "free"
        ? undefined
        : this.log.begin({ isGeneration, method, path, query, headers });
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    // It is not an error of the simulator if the client disconnects during a write.
    response.on("error", () => gone.abort());
    try {
      const bodyText = await readBody(request);
      const body = parseJson(bodyText);
      const chosen = this.#chooseFault(route, exchange, body);
      if (record !== undefined) Object.assign(record, { bodyText, body, fault: chosen.script });
      const serial = makeSerial(this.#options.seed ?? "0", record?.number ?? 0);
      const delivery: Delivery = {
        response,
        faults: chosen.faults,
        gone: gone.signal,
        held: this.held,
        headers: { [route.requestIdHeader]: `req_${serial}` },
      };
      if (chosen.faults.hold?.at === "accept") await this.held.wait(gone.signal);
      await waitToBegin(chosen.faults, gone.signal);
      await this.#answer(route, {
        delivery,
        method,
        path,
        speak: this.#options.speak ?? ((dialect) => dialect),
        headers,
        body,
        bodyBytes: Buffer.byteLength(bodyText),
        servesModel: (model) => this.#servesModel(model),
        models: this.#options.models ?? ["simulated"],
        serial,
        createdS: Math.floor(this.#clock.nowMs() / 1000),
        jobs: this.jobs,
        nextChatAnswer: () => (this.#chatAnswers += 1),
        kept: this.#kept,
      });
      if (record !== undefined) this.log.end(record, "answered");
    } catch (fault) {
      if (record !== undefined) {
        this.log.end(record, fault instanceof BrokenOff ? "broken" : "abandoned");
      }
      response.destroy();
    }
  }

  async #answer(route: Route, call: ReceivedCall): Promise<void> {
    const { delivery, path } = call;
    const mayMove = route.kind === "generation" && delivery.faults.cheat?.redirects === true;
    const location = mayMove ? movedPath(path) : undefined;
    if (location === undefined) return await route.answer(call);
    const headers = { ...delivery.headers, location };
    await deliverJson({ ...delivery, headers }, 307, {});
  }

  #chooseFault(route: Route, exchange: Exchange, body: unknown): ChosenFault {
    const { request, method, path } = exchange;
    const job = this.jobs.at(path);
    const text = isObject(body) ? route.faultText(body) : "";
    const own = job === undefined ? undefined : route.ownFault?.(job);
    const header = request.headers["x-sim-fault"] ?? own;
    const asked = requestedFault(header, text, this.#options.cheats ?? {});
    if (asked !== undefined) {
      const { reading, script } = asked;
      if (reading.kind === "faults") return { script, faults: reading.faults };
      return { script, faults: { status: 400, message: reading.message } };
    }
    const model = isObject(body) ? textOf(body["model"]) : (job?.order.model ?? "");
    const scripted = this.board.take({ method, path, model });
    return scripted.script === null ? this.#always : scripted;
  }

  #servesModel(model: string): boolean {
    return this.#options.models?.includes(model) ?? !model.startsWith("unknown");
  }

  #control(what: string, body: unknown): ControlAnswer {
    switch (what) {
      case "GET /calls":
        break;
      case "POST /calls/reset":
        this.log.reset();
        break;
      case "POST /calls/release":
        this.held.release();
        break;
      case "GET /calls/last":
        return { status: 200, json: { calls: this.log.last() } };
      case "GET /jobs":
        return { status: 200, json: { jobs: this.jobs.summaries() } };
      case "POST /faults": {
        const complaint = this.board.add(body);
        if (complaint === undefined) return { status: 200, json: { ok: true } };
        return { status: 400, json: { error: { message: complaint } } };
      }
      case "DELETE /faults":
        this.board.clear();
        return { status: 200, json: { ok: true } };
      case "GET /healthz":
        return { status: 200, json: { ok: true } };
      default:
        return { status: 404, json: { error: { message: `no such route: ${what}` } } };
    }
    return { status: 200, json: { ...this.log.counts() } };
  }
}

const MOVED = /^(\/[\w.-]+-moved|\/moved)\//;

/** The path to which `path` is redirected; undefined if `path` is itself such a target. */
function movedPath(path: string): string | undefined {
  if (MOVED.test(path)) return undefined;
  return path.startsWith("/v1/") ? `/moved${path}` : path.replace(/^\/[^/]+/, "$&-moved");
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

interface ControlAnswer {
  readonly status: number;
  readonly json: JsonObject;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sendJson(response: ServerResponse, { status, json }: ControlAnswer): void {
  const body = JSON.stringify(json);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

const JITTER_DIGITS = 8;

/** Delays: `jitter` imitates many machines, `slow_start` a model that must be loaded first. */
class StartDelay {
  readonly #seed: string;
  #calls = 0;
  #hasGenerated = false;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** Returns a function that waits before the answer, as long as the faults of the call say. */
  arrive(isGeneration: boolean): (faults: Faults, gone: AbortSignal) => Promise<void> {
    this.#calls += 1;
    const digits = makeSerial(`${this.#seed}:jitter`, this.#calls).slice(0, JITTER_DIGITS);
    const share = Number.parseInt(digits, 16) / 16 ** JITTER_DIGITS;
    const isFirst = isGeneration && !this.#hasGenerated;
    this.#hasGenerated ||= isGeneration;
    return async ({ jitter = 0, slow_start: slowStart = 0 }, gone) => {
      const ms = Math.floor(share * (jitter + 1)) + (isFirst ? slowStart : 0);
      if (ms > 0) await sleep(ms, undefined, { signal: gone });
    };
  }
}
