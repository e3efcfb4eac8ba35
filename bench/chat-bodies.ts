import { unreachable } from "../src/kernel/core/assert.ts";

export type Wire = "wire_a" | "wire_b";

/** The content of a body: text, tool schemas, one picture in base64, or text that is not JSON. */
export type BodyKind = "text" | "tools" | "image" | "broken";

export interface BodyRequest {
  /** Default: text. */
  readonly kind?: BodyKind;
  readonly wire: Wire;
  readonly model: string;
  /** The length of the body; a few bytes more or less are possible. */
  readonly bodyBytes: number;
  readonly stream: boolean;
}

const MESSAGE_BYTES_MAX = 2_000;
const OUTPUT_TOKENS_MAX = 1_024;

// Prose with characters that cost a JSON scanner time: quotes, line breaks, a two-byte letter.
const PROSE =
  'The harbour master wrote "all clear" in the log.\nThen the tide turned, and the café closed. ';

/** Returns a body as official clients write it. Only a `broken` body is invalid JSON. */
export function chatBody(request: BodyRequest): string {
  const { kind = "text" } = request;
  switch (kind) {
    case "text":
      return printBody(request, conversation(request));
    case "tools":
      return toolsBody(request);
    case "image":
      return imageBody(request);
    case "broken":
      return printBody(request, conversation(request)).slice(0, -1);
    default:
      return unreachable(kind);
  }
}

function conversation(request: BodyRequest): readonly Message[] {
  const messages: Message[] = [];
  let leftBytes = request.bodyBytes - Buffer.byteLength(printBody(request, []));
  while (leftBytes > 0 || messages.length % 2 === 0) {
    const role = messages.length % 2 === 0 ? "user" : "assistant";
    const envelopeBytes = 32;
    const textBytes = Math.min(MESSAGE_BYTES_MAX, Math.max(8, leftBytes - envelopeBytes));
    const message = { role, content: prose(textBytes) };
    messages.push(message);
    leftBytes -= Buffer.byteLength(JSON.stringify(message)) + 1;
  }
  return messages;
}

function toolsBody(request: BodyRequest): string {
  const tools: object[] = [];
  const print = (more: readonly object[]): string =>
    printBody(request, QUESTION, { tools: [...tools, ...more] });
  const toolBytes = Buffer.byteLength(JSON.stringify(tool(request.wire, 0, "x".repeat(200)))) + 1;
  const count = Math.floor((request.bodyBytes - Buffer.byteLength(print([]))) / toolBytes);
  for (let at = 0; at < count - 1; at += 1) tools.push(tool(request.wire, at, "x".repeat(200)));
  const leftBytes = request.bodyBytes - Buffer.byteLength(print([tool(request.wire, count, "")]));
  return print([tool(request.wire, count, "x".repeat(Math.max(0, leftBytes)))]);
}

function tool(wire: Wire, at: number, description: string): object {
  const name = `lookup_${String(at).padStart(4, "0")}`;
  const text = { type: "string", description: 'The name, as "first last".' };
  const schema = {
    type: "object",
    properties: { name: text, tags: { type: "array", items: text }, limit: { type: "integer" } },
    required: ["name"],
    additionalProperties: false,
  };
  if (wire === "wire_b") return { name, description, input_schema: schema };
  return { type: "function", function: { name, description, parameters: schema } };
}

/** The bytes of the picture are arbitrary, because a gateway does not decode them. */
function imageBody(request: BodyRequest): string {
  const print = (data: string): string => printBody(request, [imageMessage(request.wire, data)]);
  const leftBytes = request.bodyBytes - Buffer.byteLength(print(""));
  return print("iVBORw0K".repeat(Math.max(1, Math.floor(leftBytes / 8))));
}

function imageMessage(wire: Wire, data: string): Message {
  const text = { type: "text", text: "What is in this picture?" };
  const source = { type: "base64", media_type: "image/png", data };
  const url = { url: `data:image/png;base64,${data}` };
  const image =
    wire === "wire_b" ? { type: "image", source } : { type: "image_url", image_url: url };
  return { role: "user", content: [text, image] };
}

const QUESTION: readonly Message[] = [{ role: "user", content: "Which tool would you use?" }];

interface Message {
  readonly role: string;
  readonly content: string | readonly object[];
}

function printBody(
  request: BodyRequest,
  messages: readonly Message[],
  more: Readonly<Record<string, unknown>> = {},
): string {
  const { model, stream } = request;
  const common = { model, max_tokens: OUTPUT_TOKENS_MAX, temperature: 0.2, stream, ...more };
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
