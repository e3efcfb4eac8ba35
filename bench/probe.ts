import type { Wire } from "./chat-bodies.ts";
import { withKey } from "./endpoint.ts";
import type { Destination } from "./load.ts";

const PROBE_TIMEOUT_MS = 10_000;

/**
 * Sends the request once with a real client and checks the answer, because a fast wrong answer must
 * not become a figure. Returns the problem; undefined if the answer has text and usage.
 */
export async function probe(destination: Destination, wire: Wire): Promise<string | undefined> {
  const { body, keys, status = 200, code = "" } = destination;
  const [key] = keys ?? [];
  const endpoint = key === undefined ? destination.endpoint : withKey(destination.endpoint, key);
  const response = await fetch(`http://127.0.0.1:${endpoint.port}${endpoint.path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...endpoint.headers },
    body,
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  });
  const text = await response.text();
  const excerpt = text.slice(0, 300);
  const isExpected = response.status === status && text.includes(code);
  if (!isExpected) return `the probe got ${response.status}: ${excerpt}`;
  if (status !== 200) return undefined;
  return isAnswerOf(wire, JSON.parse(text)) ? undefined : `not a ${wire} answer: ${excerpt}`;
}

interface AnswerFields {
  readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
  readonly content?: readonly { readonly text?: unknown }[];
  readonly usage?: Readonly<Record<string, unknown>>;
}

function isAnswerOf(wire: Wire, answer: AnswerFields): boolean {
  const text =
    wire === "wire_a" ? answer.choices?.[0]?.message?.content : answer.content?.[0]?.text;
  const inputTokens = answer.usage?.[wire === "wire_a" ? "prompt_tokens" : "input_tokens"];
  return typeof text === "string" && text.length > 100 && inputTokens === 210;
}
