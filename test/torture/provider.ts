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

/** The token counts that an answer reports. */
interface AnswerTokens {
  readonly prompt: number;
  readonly completion: number;
  /** True if the whole prompt is written into the cache for an hour. */
  readonly isForHour: boolean;
}

/** The provider's own record of one attempt that reached it. */
export interface ReceivedAttempt {
  times: number;
  /**
   * The number of times that the connection ended before the first byte of an answer; the gateway
   * may then send the request once more.
   */
  unanswered: number;
  wire: Wire | undefined;
  /** The token counts that its answer reported; undefined if it reported none or broke off. */
  reported: AnswerTokens | undefined;
  /** When the last byte of its answer was sent, in monotonic milliseconds. */
  endedMs: number | undefined;
}

/** Returns the cost of an answer at the listing's prices, and the debt to its provider. */
export function costOf({ prompt, completion, isForHour }: AnswerTokens) {
  // One micro-dollar for a prompt token, or two if it is kept for an hour; ten for an output token.
  const microUsd = BigInt(isForHour ? 2 * prompt : prompt) + 10n * BigInt(completion);
  // The provider is owed three quarters of each price, even where the hold covered less.
  return { microUsd, owedPico: (microUsd * 3_000_000n) / 4n };
}

/** A provider of both wires that remembers, by attempt id, everything that ever reached it. */
export interface CountingProvider {
  readonly url: string;
  readonly received: ReadonlyMap<string, ReceivedAttempt>;
  /** Requests that no gateway may send: without an attempt id, with a wrong key, unreadable. */
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

/** Starts a provider whose answers take time and sometimes fail, as `dice` decides. */
export async function startCountingProvider(dice: Random): Promise<CountingProvider> {
  const received = new Map<string, ReceivedAttempt>();
  const complaints: string[] = [];
  const server = createServer((request, response) => {
    // Writing fails when a gateway is killed in mid-answer, which is not the provider's fault.
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
  // Counted before the body is read, because the request has already left the gateway.
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
  /** The token counts that the answer reports; if undefined, it reports no usage. */
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
  // The token counts and the end mark are sent in one write.
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

/** Shares of all answers in per mille; the rest are good. `dies` has an effect only on streams. */
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
      // More than was asked for: the platform bears the cost that the hold does not cover.
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

/** Returns undefined if the body is not JSON. Throws if it breaks off, as when a gateway dies. */
async function readJson(request: IncomingMessage): Promise<ChatBody | undefined> {
  const sent = await readText(request);
  try {
    const body = JSON.parse(sent) as Partial<ChatBody>;
    return { model: "", max_tokens: 0, stream: false, ...body };
  } catch {
    return undefined;
  }
}
