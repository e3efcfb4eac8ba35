import { writeUsd } from "../../ui/money-math.ts";
import { member, receive, send, sendJson, settledCost, text } from "../playground/gateway.ts";
import type { GuideCall } from "./guide-call.ts";

const SHOWN_CHARS_MAX = 20_000;
const STRING_CHARS_MAX = 400;

export interface GuideQuote {
  /** Dollars that the gateway would reserve. Undefined if the call is free or would be refused. */
  readonly mostUsd: string | undefined;
  /** Why the call would be refused; undefined if it would be accepted. */
  readonly refusal: string | undefined;
}

/** Asks the gateway for a quote. The session authorizes it; no model is called or charged. */
export async function quoteGuideCall({ quotedAs, body }: GuideCall): Promise<GuideQuote> {
  if (quotedAs === undefined || body === undefined) {
    return { mostUsd: undefined, refusal: undefined };
  }
  const { json } = await sendJson(`/route?for=${quotedAs}`, { body });
  const micro = member(member(json, "estimate"), "reserve_micro_usd");
  return {
    mostUsd: typeof micro === "number" ? writeUsd(BigInt(micro)) : undefined,
    refusal: text(member(member(json, "refusal"), "message")),
  };
}

export interface GuideAnswer {
  readonly shown: string;
  readonly requestId: string | undefined;
  /** Cost in dollars; undefined if the call was free or is not settled yet. */
  readonly costUsd: string | undefined;
}

/** Runs a call. `onText` gets the text of a stream so far, up to `SHOWN_CHARS_MAX` characters. */
export async function runGuideCall(
  { path, body, quotedAs }: GuideCall,
  { signal, onText }: { readonly signal: AbortSignal; readonly onText: (text: string) => void },
): Promise<GuideAnswer> {
  const response = await send(path, body === undefined ? { signal } : { body, signal });
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const read = isJson ? response.text() : readStream(response, onText);
  const whole = await receive(read, signal);
  const costs = quotedAs !== undefined && requestId !== undefined;
  return {
    shown: isJson ? presentJson(whole) : whole,
    requestId,
    costUsd: costs ? await settledCost(requestId) : undefined,
  };
}

async function readStream(response: Response, onText: (text: string) => void): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let shown = "";
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) return shown;
    // The stream is read to its end, because cancelling the body would end the request early.
    if (shown.length < SHOWN_CHARS_MAX) {
      shown = (shown + decoder.decode(part.value, { stream: true })).slice(0, SHOWN_CHARS_MAX);
      onText(shown);
    }
  }
}

export function presentJson(body: string): string {
  try {
    const cut = (_name: string, value: unknown): unknown =>
      typeof value === "string" && value.length > STRING_CHARS_MAX
        ? `${value.slice(0, STRING_CHARS_MAX)}… (${value.length} characters)`
        : value;
    return JSON.stringify(JSON.parse(body), cut, 2).slice(0, SHOWN_CHARS_MAX);
  } catch {
    return body.slice(0, SHOWN_CHARS_MAX);
  }
}
