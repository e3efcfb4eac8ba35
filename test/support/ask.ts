import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";

import { parseUsd } from "../../src/kernel/core/money.ts";
import { until } from "./books.ts";

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
  /** Undefined if the text is not JSON. */
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

/** Sends a chat request, and reads the answer to its end, whatever its status. */
export function ask(gatewayUrl: string, asked: Ask): Promise<HttpAnswer> {
  return post(gatewayUrl, { key: asked.key, path: PATHS[asked.wire], body: bodyOf(asked) });
}

/**
 * Asks a provider that pauses within its answer (fault `hold:event:N`). The provider continues once
 * `mayContinue` accepts the part that has arrived; by default, once it contains output.
 */
export async function askInTwo(
  gatewayUrl: string,
  asked: Ask,
  provider: { release(): void },
  mayContinue: (part: string) => boolean = hasOutput,
): Promise<HttpAnswer> {
  let part = "";
  let isOver = false;
  const sent = openPost(gatewayUrl, {
    key: asked.key,
    path: PATHS[asked.wire],
    body: bodyOf(asked),
  });
  const answer = exchange(sent, (text) => (part += text)).finally(() => (isOver = true));
  await until("the awaited part arrives", () => isOver || mayContinue(part));
  // The part may arrive before the provider has paused, so the release is repeated.
  await until("the answer has ended", () => {
    provider.release();
    return isOver;
  });
  return await answer;
}

function hasOutput(part: string): boolean {
  return /You said|word1|"delta"/.test(part);
}

export function post(
  gatewayUrl: string,
  input: { readonly key: string; readonly path: string; readonly body: string },
): Promise<HttpAnswer> {
  return exchange(openPost(gatewayUrl, input));
}

export function get(gatewayUrl: string, input: { key: string; path: string }): Promise<HttpAnswer> {
  const sent = httpRequest(gatewayUrl + input.path, {
    agent: false,
    headers: { authorization: `Bearer ${input.key}` },
  });
  sent.end();
  return exchange(sent);
}

/** Sends a chat request, and returns it open, so that a test controls its socket. */
export function openAsk(gatewayUrl: string, asked: Ask): ClientRequest {
  return openPost(gatewayUrl, { key: asked.key, path: PATHS[asked.wire], body: bodyOf(asked) });
}

function openPost(
  gatewayUrl: string,
  input: { readonly key: string; readonly path: string; readonly body: string },
): ClientRequest {
  const sent = httpRequest(gatewayUrl + input.path, {
    agent: false,
    method: "POST",
    headers: {
      authorization: `Bearer ${input.key}`,
      "content-type": "application/json",
      ...(input.path.startsWith("/v1/messages") ? { "anthropic-version": "2023-06-01" } : {}),
    },
  });
  sent.end(input.body);
  return sent;
}

async function exchange(
  sent: ClientRequest,
  onText: (text: string) => void = () => {},
): Promise<HttpAnswer> {
  const response = await new Promise<IncomingMessage>((done, failed) => {
    sent.once("response", done);
    sent.once("error", failed);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    onText(String(chunk));
  }
  return answerOf(response, Buffer.concat(chunks).toString());
}

export function answerOf(response: IncomingMessage, text: string): HttpAnswer {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) headers[name] = String(value);
  return {
    status: response.statusCode ?? 0,
    headers,
    text,
    json: parsed(text),
    requestId: headers["x-request-id"] ?? "",
  };
}

/** Returns the value under a path of member names and indexes; undefined if there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, step) =>
      typeof inner === "object" && inner !== null
        ? (inner as Readonly<Record<string | number, unknown>>)[step]
        : undefined,
    value,
  );
}

/** One event of a stream. A comment has no data. */
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
