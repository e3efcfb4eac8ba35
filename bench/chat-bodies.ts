/** The chat wire a client or a provider speaks in a measurement. */
export type Wire = "wire_a" | "wire_b";

export interface BodyRequest {
  readonly wire: Wire;
  readonly model: string;
  /** The body is this long, give or take a few bytes. */
  readonly bodyBytes: number;
  readonly stream: boolean;
}

const MESSAGE_BYTES_MAX = 2_000;
const OUTPUT_TOKENS_MAX = 1_024;

// Prose with the marks that cost a JSON scanner something: quotes, line breaks, a letter of two bytes.
const PROSE =
  'The harbour master wrote "all clear" in the log.\nThen the tide turned, and the café closed. ';

/** A conversation of the asked size, valid on its wire, as an official client would print it. */
export function chatBody(request: BodyRequest): string {
  const empty = printBody(request, []);
  const messages: Message[] = [];
  let leftBytes = request.bodyBytes - Buffer.byteLength(empty);
  while (leftBytes > 0 || messages.length % 2 === 0) {
    const role = messages.length % 2 === 0 ? "user" : "assistant";
    const envelopeBytes = 32;
    const textBytes = Math.min(MESSAGE_BYTES_MAX, Math.max(8, leftBytes - envelopeBytes));
    const message = { role, content: prose(textBytes) };
    messages.push(message);
    leftBytes -= Buffer.byteLength(JSON.stringify(message)) + 1;
  }
  return printBody(request, messages);
}

interface Message {
  readonly role: string;
  readonly content: string;
}

function printBody(request: BodyRequest, messages: readonly Message[]): string {
  const { model, stream } = request;
  const common = { model, max_tokens: OUTPUT_TOKENS_MAX, temperature: 0.2, stream };
  const system = "You answer in one short sentence.";
  if (request.wire === "wire_b") return JSON.stringify({ ...common, system, messages });
  return JSON.stringify({
    ...common,
    messages: [{ role: "system", content: system }, ...messages],
  });
}

function prose(textBytes: number): string {
  const perRound = Buffer.byteLength(JSON.stringify(PROSE)) - 2;
  const rounds = Math.floor(textBytes / perRound);
  return PROSE.repeat(rounds) + "x".repeat(textBytes - rounds * perRound);
}
