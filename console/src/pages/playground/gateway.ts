import { presentOrgHeaders } from "../../api/client.ts";
import { defined } from "../../../../src/kernel/core/defined.ts";
import { writeUsd } from "../../ui/money-math.ts";

const ROOT = "/playground/v1";

export class GatewayFault extends Error {
  override readonly name = "GatewayFault";
  readonly status: number;
  /** Error class, such as `rate_limit`; undefined if the error does not come from the gateway. */
  readonly errorType: string | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, body: unknown) {
    const error = member(body, "error");
    super(
      text(member(error, "message")) ??
        (status === 0
          ? "The gateway cannot be reached. Check your connection and try again."
          : "The gateway returned an unexpected response. Try again."),
    );
    this.status = status;
    this.errorType = errorTypeOf(error);
    this.requestId = text(member(body, "request_id"));
  }
}

export function errorTypeOf(error: unknown): string | undefined {
  return text(member(member(error, "metadata"), "error_type")) ?? text(member(error, "code"));
}

interface SendOptions {
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Sends a call. Rejects with `GatewayFault` if it fails, and as `fetch` does if it is aborted. */
export async function send(path: string, { body, signal }: SendOptions = {}): Promise<Response> {
  const headers = presentOrgHeaders();
  const sent =
    body === undefined
      ? { headers }
      : {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        };
  const asked = fetch(`${ROOT}${path}`, { ...sent, ...defined({ signal }) });
  const response = await receive(asked, signal);
  if (response.ok) return response;
  throw new GatewayFault(response.status, await response.json().catch(() => undefined));
}

/** Waits for an answer or its body. Rejects as `send` does if the connection fails meanwhile. */
export async function receive<T>(part: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await part;
  } catch (fault) {
    if (signal?.aborted === true) throw fault;
    throw new GatewayFault(0, undefined);
  }
}

export interface JsonAnswer {
  readonly json: unknown;
  readonly bodyText: string;
  /** Cost in dollars as a decimal text; undefined if the answer states none. */
  readonly costUsd: string | undefined;
  readonly requestId: string | undefined;
  readonly provider: string | undefined;
}

export async function sendJson(path: string, options: SendOptions = {}): Promise<JsonAnswer> {
  const response = await send(path, options);
  const bodyText = await receive(response.text(), options.signal);
  const json = parseJson(bodyText);
  if (json === undefined) throw new GatewayFault(response.status, undefined);
  return {
    json,
    bodyText,
    costUsd: exactCost(bodyText),
    requestId: response.headers.get("x-request-id") ?? undefined,
    provider: response.headers.get("x-tm-provider") ?? undefined,
  };
}

export function contentAddress(videoId: string): string {
  return `${ROOT}/videos/${encodeURIComponent(videoId)}/content`;
}

/** The waits grow, because the gateway may read a stopped answer for a while before it settles. */
const RECORD_WAITS_MS = [0, 500, 1_500, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000];

/**
 * Waits for the settlement of a request, and returns its cost in dollars. Undefined if that takes
 * more than two minutes, or if the record states no cost.
 */
export async function settledCost(requestId: string): Promise<string | undefined> {
  for (const waitMs of RECORD_WAITS_MS) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    try {
      const record = await sendJson(`/generation?id=${encodeURIComponent(requestId)}`);
      if (text(member(member(record.json, "data"), "outcome")) === "in_flight") continue;
      // The first match is the request's total: the costs of its attempts come after it.
      const micro = /"cost_micro_usd"\s*:\s*(\d+)/.exec(record.bodyText)?.[1];
      return micro === undefined ? undefined : writeUsd(BigInt(micro));
    } catch {
      // The loop tries again: the record may not be written yet.
    }
  }
  return undefined;
}

export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * The cost in dollars with six decimals; undefined if there is none. It is read from the text,
 * because `JSON.parse` would round it to a float.
 */
export function exactCost(answerText: string): string | undefined {
  const found = [...answerText.matchAll(/"(?:cost|total_cost)"\s*:\s*([0-9.]+)/g)].at(-1)?.[1];
  const [, whole, fraction = ""] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(found ?? "") ?? [];
  return whole === undefined ? undefined : `${whole}.${fraction.padEnd(6, "0")}`;
}
