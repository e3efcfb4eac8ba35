import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

import { chatDialect, messagesDialect } from "../../src/dev/simulator/dialects.ts";
import type { SimAnswer } from "../../src/dev/simulator/answer.ts";
import type { Envelope } from "../../src/dev/simulator/dialect.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { PROVIDER_KEY } from "../support/gateway.ts";
import type { Wire } from "../support/ask.ts";
import { listenLocally } from "../support/local-server.ts";
import { frameText } from "../simulation/provider.ts";
import { TORTURE_MODEL } from "./client.ts";
import type { Random } from "../simulation/random.ts";

/** Tokens that an answer reports. */
interface AnswerTokens {
  readonly prompt: number;
  readonly completion: number;
  /** Is the whole prompt written into the cache, for an hour? */
  readonly isForHour: boolean;
}

/** The provider's own record of one attempt that reached it. */
export interface ReceivedAttempt {
  times: number;
  /**
   * How often the connection ended before the first byte of an answer; the gateway may then send
   * the request once more.
   */
  unanswered: number;
  wire: Wire | undefined;
  /** The report in the last byte of its answer; undefined when that byte never left. */
  reported: AnswerTokens | undefined;
  /** When the last byte of its answer left; monotonic clock. */
  endedMs: number | undefined;
}

/** What an answer costs, by the listing's prices in micro-dollars, and the debt to its provider. */
export function costOf({ prompt, completion, isForHour }: AnswerTokens) {
  // A micro-dollar a prompt token, two when it is kept for an hour, ten an output token.
  const microUsd = BigInt(isForHour ? 2 * prompt : prompt) + 10n * BigInt(completion);
  // Three quarters of each price, whatever the customer could hold.
  return { microUsd, owedPico: (microUsd * 3_000_000n) / 4n };
}

/** A provider of both wires that remembers, by attempt id, everything that ever reached it. */
export interface CountingProvider {
  readonly url: string;
  readonly received: ReadonlyMap<string, ReceivedAttempt>;
  /** Requests no gateway may send: without an attempt id, with another key, unreadable. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** The header that carries the attempt id, so that a provider's records match the journal. */
const ATTEMPT_HEADER = "x-client-request-id";
const PATHS: Readonly<Record<string, Wire>> = {
  "/a/v1/chat/completions": "wire_a",
  "/b/v1/messages": "wire_b",
};
const KEEP_ALIVE_MS = 60_000;

/** Starts a provider whose answers take their time and now and then go wrong, as the dice say. */
export async function startCountingProvider(dice: Random): Promise<CountingProvider> {
  const received = new Map<string, ReceivedAttempt>();
  const complaints: string[] = [];
  const server = createServer((request, response) => {
    // A gateway that is killed in mid-answer is not a fault of the provider.
    response.on("error", () => undefined);
    serve({ request, response, received, complaints, dice }).catch(() => response.destroy());
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return { ...(await listenLocally(server)), received, complaints };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly received: Map<string, ReceivedAttempt>;
  readonly complaints: string[];
  readonly dice: Random;
}

async function serve(exchange: Exchange): Promise<void> {
  const { request, response, received, complaints, dice } = exchange;
  const attemptId = String(request.headers[ATTEMPT_HEADER]);
  // Counted before the body is read: the request has left the gateway.
  const known = received.get(attemptId);
  const attempt = known ?? {
    times: 0,
    unanswered: 0,
    wire: undefined,
    reported: undefined,
    endedMs: undefined,
  };
  attempt.times += 1;
  received.set(attemptId, attempt);
  const wire = PATHS[request.url ?? ""];
  attempt.wire = wire;
  const body = await readJson(request);
  const complaint = complaintAbout(request, wire, body);
  if (complaint !== undefined || wire === undefined || body === undefined) {
    complaints.push(`${request.url}: ${complaint}`);
    response.writeHead(400, JSON_TYPE).end('{"error":{"message":"malformed"}}');
    return;
  }
  const temper = temperOf(dice, body.max_tokens);
  await sleep(temper.firstByteMs);
  if (temper.kind === "reset") {
    attempt.unanswered += 1;
    return void response.destroy();
  }
  if (temper.kind === "error") {
    response.writeHead(500, JSON_TYPE).end('{"error":{"message":"try again","type":"api_error"}}');
    return;
  }
  const isForHour = wire === "wire_b" && body.cache_control?.ttl === "1h";
  const tokens = temper.kind === "silent" ? undefined : { ...temper.tokens, isForHour };
  await writeAnswer(response, { wire, tokens, temper, isStream: body.stream });
  if (response.destroyed) return;
  attempt.reported = tokens;
  attempt.endedMs = systemClock.monotonicMs();
}

interface Answer {
  readonly wire: Wire;
  readonly isStream: boolean;
  /** Without them it reports no usage. */
  readonly tokens: AnswerTokens | undefined;
  readonly temper: Temper;
}

async function writeAnswer(response: ServerResponse, answer: Answer): Promise<void> {
  const { wire, tokens, temper } = answer;
  const dialect = wire === "wire_a" ? chatDialect : messagesDialect;
  const { prompt, completion: output, isForHour } = tokens ?? NO_TOKENS;
  const written = isForHour ? prompt : 0;
  const usage = {
    prompt,
    cached: 0,
    cacheWrite: written,
    hourWrite: written,
    output,
    reasoning: 0,
  };
  const said: SimAnswer = { ...SAID, usage };
  const envelope: Envelope = { ...ENVELOPE, usage: tokens === undefined ? null : {} };
  if (!answer.isStream) {
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(dialect.json(said, envelope)));
    return;
  }
  const frames = dialect.frames(said, envelope);
  // The report and the end mark leave in one piece.
  const last = frames.findIndex(({ kind }) => kind === "finish");
  const texts = frames.map(frameText);
  const pieces = [...texts.slice(0, last), texts.slice(last).join("")];
  response.writeHead(200, { "content-type": "text/event-stream" });
  const whole = temper.kind === "dies" ? pieces.slice(0, Math.ceil(pieces.length / 2)) : pieces;
  for (const piece of whole) {
    if (response.destroyed) return;
    response.write(piece);
    await sleep(temper.pieceMs);
  }
  if (temper.kind === "dies") response.destroy();
  else response.end();
}

const SAID = {
  thinking: "",
  text: "The books are in order.",
  calls: [],
  finish: "stop",
  stopSequence: null,
} as const;
const ENVELOPE = { serial: "1", createdS: 1, model: TORTURE_MODEL, includeUsage: true };
const NO_TOKENS: AnswerTokens = { prompt: 0, completion: 0, isForHour: false };
const JSON_TYPE = { "content-type": "application/json" };

/** The course of one answer: most are good, others fail before, within or after their content. */
interface Temper {
  readonly kind: "good" | "dear" | "silent" | "error" | "reset" | "dies";
  readonly tokens: Omit<AnswerTokens, "isForHour">;
  readonly firstByteMs: number;
  readonly pieceMs: number;
}

/** In per mille of all answers; the rest is good. `dies` counts for streams only. */
const FAULTS = [
  ["error", 20],
  ["reset", 10],
  ["dies", 10],
  ["dear", 5],
  ["silent", 5],
] as const;

function temperOf(dice: Random, maxTokens: number): Temper {
  let mark = dice.between(0, 999);
  const fault = FAULTS.find(([, share]) => (mark -= share) < 0)?.[0];
  return {
    kind: fault ?? "good",
    tokens: {
      prompt: dice.between(5, 60),
      // More than was asked for: the platform bears what the hold does not cover.
      completion: fault === "dear" ? maxTokens * 3 : dice.between(1, maxTokens),
    },
    firstByteMs: dice.between(20, 700),
    pieceMs: dice.between(20, 250),
  };
}

interface ChatBody {
  readonly model: string;
  readonly stream: boolean;
  readonly max_tokens: number;
  readonly cache_control?: { readonly ttl?: string };
}

function complaintAbout(
  request: IncomingMessage,
  wire: Wire | undefined,
  body: ChatBody | undefined,
): string | undefined {
  const { headers } = request;
  if (wire === undefined || request.method !== "POST") return "no such route";
  const key = wire === "wire_a" ? headers.authorization?.slice("Bearer ".length) : undefined;
  if ((key ?? headers["x-api-key"]) !== PROVIDER_KEY) return "another key than the marketplace's";
  if (!/^\d{10,19}$/.test(String(headers[ATTEMPT_HEADER]))) return "no attempt id";
  if (body === undefined) return "no readable body";
  if (body.model !== TORTURE_MODEL || body.max_tokens < 1) return "another model, or no bound";
  return undefined;
}

/** Undefined when it is not JSON; a body that breaks off is the killed gateway's, and throws. */
async function readJson(request: IncomingMessage): Promise<ChatBody | undefined> {
  const sent = await readText(request);
  try {
    const body = JSON.parse(sent) as Partial<ChatBody>;
    return { model: "", max_tokens: 0, stream: false, ...body };
  } catch {
    return undefined;
  }
}
