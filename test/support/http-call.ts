import { once } from "node:events";
import {
  Agent,
  request,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from "node:http";

const agent = new Agent({ keepAlive: true });

export interface HttpCall {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Strings and buffers are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  readonly chunked?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

/** Returns an answer without request id and date, so that equal answers compare as equal. */
export function withoutIds({ status, headers, text }: HttpAnswer): object {
  const { "x-request-id": id, "request-id": _same, date: _date, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(String(id), "ID") };
}

/** Sends one HTTP request; nothing is retried or interpreted. */
export async function httpCall(url: string, call: HttpCall = {}): Promise<HttpAnswer> {
  const bytes = call.body === undefined ? undefined : bytesOf(call.body);
  const length = bytes === undefined || call.chunked === true ? {} : lengthOf(bytes);
  const sent = request(url, {
    agent,
    method: call.method ?? (bytes === undefined ? "GET" : "POST"),
    headers: { ...length, ...(call.headers as Record<string, string | string[]> | undefined) },
  });
  sent.end(bytes);
  const { response, text } = await readAnswer(sent);
  const { statusCode: status = 0, headers } = response;
  return { status, headers, text, json: parsed(text) };
}

/** Reads an answer to its end. Each part is also given to `onText` as it arrives. */
export async function readAnswer(
  sent: ClientRequest,
  onText: (part: string) => void = () => undefined,
): Promise<{ readonly response: IncomingMessage; readonly text: string }> {
  // The connection may also break after the answer has begun, while the body is being sent.
  sent.on("error", () => undefined);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    onText(String(chunk));
  }
  return { response, text: Buffer.concat(chunks).toString() };
}

export function bearer(key: string): { readonly authorization: string } {
  return { authorization: `Bearer ${key}` };
}

/** Returns the value at a path such as `error.metadata.retryable`; undefined if there is none. */
export function at(value: unknown, path: string): unknown {
  return atSteps(value, path.split("."));
}

export function atSteps(value: unknown, steps: readonly (string | number)[]): unknown {
  return steps.reduce<unknown>((inner, step) => {
    if (typeof inner !== "object" || inner === null) return undefined;
    return (inner as Record<string | number, unknown>)[step];
  }, value);
}

export function textAt(value: unknown, path: string): string {
  const found = at(value, path);
  return typeof found === "string" ? found : "";
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  const found = at(value, path);
  return Array.isArray(found) ? found : [];
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function lengthOf(bytes: Buffer): Record<string, string> {
  return { "content-type": "application/json", "content-length": String(bytes.length) };
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
