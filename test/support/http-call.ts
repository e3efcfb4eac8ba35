import { Agent, request, type IncomingHttpHeaders } from "node:http";

const agent = new Agent({ keepAlive: true });

export interface HttpCall {
  /** Default: POST if there is a body, otherwise GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Strings and buffers are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  /** True: the body is sent in chunks, without a length. */
  readonly chunked?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Undefined if the body is not JSON. */
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
  return await new Promise((resolve, reject) => {
    const sent = request(url, {
      agent,
      method: call.method ?? (bytes === undefined ? "GET" : "POST"),
      headers: { ...length, ...writable(call.headers ?? {}) },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, text, json: parsed(text) });
      });
    });
    sent.end(bytes);
  });
}

export function bearer(key: string): { readonly authorization: string } {
  return { authorization: `Bearer ${key}` };
}

/** Returns the value at a path such as `error.metadata.retryable`; undefined if there is none. */
export function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((inner, step) => {
    if (typeof inner !== "object" || inner === null) return undefined;
    return (inner as Record<string, unknown>)[step];
  }, value);
}

/** Returns the text at a path; "" if there is none. */
export function textAt(value: unknown, path: string): string {
  const found = at(value, path);
  return typeof found === "string" ? found : "";
}

/** Returns the array at a path; empty if there is none. */
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

function writable(headers: NonNullable<HttpCall["headers"]>): Record<string, string | string[]> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    typeof value === "string" ? value : [...value],
  ]);
  return Object.fromEntries(entries) as Record<string, string | string[]>;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
