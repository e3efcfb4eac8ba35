import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";

import { parseUsd } from "../../src/kernel/core/money.ts";
import { until } from "./books.ts";
import { atSteps, bearer, parsed, readAnswer } from "./http-call.ts";

export type Wire = "wire_a" | "wire_b";

export interface Ask {
  readonly key: string;
  readonly wire: Wire;
  readonly model: string;
  /** The user's text, with markers for the simulator. */
  readonly text: string;
  readonly stream?: boolean;
  /** Default 64; `null` leaves the bound out. */
  readonly maxTokens?: number | null;
  readonly more?: object;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: unknown;
  readonly requestId: string;
}

const PATHS: Readonly<Record<Wire, string>> = {
  wire_a: "/v1/chat/completions",
  wire_b: "/v1/messages",
};

export function bodyOf(asked: Ask): string {
  const bound = asked.maxTokens === undefined ? 64 : asked.maxTokens;
  return JSON.stringify({
    model: asked.model,
    ...(bound === null ? {} : { max_tokens: bound }),
    ...(asked.stream === true ? { stream: true } : {}),
    ...asked.more,
    messages: [{ role: "user", content: asked.text }],
  });
}

export function ask(gatewayUrl: string, asked: Ask): Promise<HttpAnswer> {
  return exchange(openAsk(gatewayUrl, asked));
}

/** Asks a provider that pauses (`hold:event:N`) until `mayContinue` accepts what has arrived. */
export async function askInTwo(
  gatewayUrl: string,
  asked: Ask,
  provider: { release(): void },
  mayContinue = (received: string) => /You said|word1|"delta"/.test(received),
): Promise<HttpAnswer> {
  let part = "";
  let isOver = false;
  const answer = exchange(openAsk(gatewayUrl, asked), (text) => (part += text)).finally(
    () => (isOver = true),
  );
  await until("the awaited part arrives", () => isOver || mayContinue(part));
  // The part may arrive before the provider has paused, so the release is repeated.
  await until("the answer has ended", () => {
    provider.release();
    return isOver;
  });
  return await answer;
}

interface Post {
  readonly key: string;
  readonly path: string;
  readonly body: string;
}

export function post(gatewayUrl: string, input: Post): Promise<HttpAnswer> {
  return exchange(openPost(gatewayUrl, input));
}

export function get(gatewayUrl: string, input: { key: string; path: string }): Promise<HttpAnswer> {
  const sent = httpRequest(gatewayUrl + input.path, {
    agent: false,
    headers: bearer(input.key),
  });
  sent.end();
  return exchange(sent);
}

/** Sends a chat request, and returns it open, so that a test controls its socket. */
export function openAsk(gatewayUrl: string, asked: Ask): ClientRequest {
  return openPost(gatewayUrl, { key: asked.key, path: PATHS[asked.wire], body: bodyOf(asked) });
}

function openPost(gatewayUrl: string, input: Post): ClientRequest {
  const sent = httpRequest(gatewayUrl + input.path, {
    agent: false,
    method: "POST",
    headers: {
      ...bearer(input.key),
      "content-type": "application/json",
      ...(input.path.startsWith("/v1/messages") ? { "anthropic-version": "2023-06-01" } : {}),
    },
  });
  sent.end(input.body);
  return sent;
}

async function exchange(sent: ClientRequest, onText?: (text: string) => void): Promise<HttpAnswer> {
  const { response, text } = await readAnswer(sent, onText);
  return answerOf(response, text);
}

export function answerOf(response: IncomingMessage, text: string): HttpAnswer {
  const entries = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  const headers = Object.fromEntries(entries) as Record<string, string>;
  return {
    status: response.statusCode ?? 0,
    headers,
    text,
    json: parsed(text),
    requestId: headers["x-request-id"] ?? "",
  };
}

export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return atSteps(value, path);
}

export interface SseEvent {
  readonly event: string | undefined;
  readonly data: string | undefined;
  readonly comment: string | undefined;
  readonly json: unknown;
}

/** Parses a stream. Throws if its last event is incomplete. */
export function eventsOf(text: string): SseEvent[] {
  const blocks = text.split("\n\n");
  if (blocks.pop() !== "") throw new Error(`the stream ends inside an event: ${text.slice(-200)}`);
  return blocks.map((block) => {
    const field = (name: string): string | undefined =>
      block
        .split("\n")
        .find((line) => line.startsWith(name))
        ?.slice(name.length)
        .trim();
    const data = field("data:");
    return { event: field("event:"), data, comment: field(":"), json: parsed(data ?? "") };
  });
}

/** Returns the last `cost` that an answer reports, in micro-dollars, parsed without floats. */
export function costOf(answer: HttpAnswer): bigint | undefined {
  const digits = [...answer.text.matchAll(/"cost":(-?[0-9.]+)/g)].at(-1)?.[1];
  return digits === undefined ? undefined : parseUsd(digits);
}
