import type { RequestMessage } from "../pages/playground/chat/chat-request.ts";
import { member } from "../pages/playground/gateway.ts";
import { messagesBody } from "./messages-body.ts";

export type SnippetWire = "chat" | "messages";

export interface SnippetOf {
  readonly gatewayUrl: string;
  readonly modelId: string;
  readonly messages: readonly RequestMessage[];
  /** Parameters of the call, in the format of chat completions. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly isStream?: boolean;
  /** Raw key. If undefined, the code reads the environment variable `KEY_VARIABLE`. */
  readonly secret?: string | undefined;
}

export interface Snippet {
  readonly label: "curl" | "Python" | "TypeScript" | "Claude Code" | "opencode";
  readonly code: string;
}

export const KEY_VARIABLE = "TOKEN_MARKET_KEY";

export const KEY_HINT = `Set one of your keys as the environment variable ${KEY_VARIABLE}.`;

/** Writes a call in curl, Python and TypeScript, in this order. Files become placeholders. */
export function chatSnippets(wire: SnippetWire, of: SnippetOf): readonly Snippet[] {
  const root = of.gatewayUrl.replace(/\/+$/, "");
  if (wire === "messages" && of.messages.some(hasAudio)) {
    return inLanguages(`# ${NO_AUDIO}`, `# ${NO_AUDIO}`, `// ${NO_AUDIO}`);
  }
  return wire === "chat" ? onChatCompletions(of, root) : onMessages(of, root);
}

const NO_AUDIO = "The messages interface takes no audio. Use chat completions.";

function hasAudio({ content }: RequestMessage): boolean {
  return (
    typeof content !== "string" && content.some((part) => member(part, "type") === "input_audio")
  );
}

export function helloSnippets(
  wire: SnippetWire,
  of: Pick<SnippetOf, "gatewayUrl" | "modelId" | "secret" | "isStream">,
): readonly Snippet[] {
  return chatSnippets(wire, {
    ...of,
    messages: [{ role: "user", content: "Say hello" }],
    parameters: { max_tokens: 256 },
  });
}

function onChatCompletions(of: SnippetOf, root: string): readonly Snippet[] {
  const { modelId: model, parameters, isStream = false, secret } = of;
  const body = { model, messages: withoutFiles(of.messages), ...parameters };
  const sent = isStream ? { ...body, stream: true } : body;
  const name = isStream ? "stream" : "answer";
  return inLanguages(
    `${exported(secret)}${curl(`${root}/v1/chat/completions`, BEARER, sent)}`,
    `${pythonHead("openai", "OpenAI", secret)}
client = OpenAI(
    base_url=${JSON.stringify(`${root}/v1`)},
    api_key=${pythonKey(secret)},
)
${name} = client.chat.completions.create(
${pythonArguments(sent, OPENAI_FIELDS)}
)
${isStream ? PYTHON_CHUNKS : "print(answer.choices[0].message.content)"}`,
    `${openAiClient(root, secret)}
const ${name} = await client.chat.completions.create(${typed(sent, OPENAI_FIELDS, `OpenAI.ChatCompletionCreateParams${isStream ? "Streaming" : "NonStreaming"}`)});
${isStream ? SCRIPT_CHUNKS : "console.log(answer.choices[0].message.content);"}`,
  );
}

const PYTHON_CHUNKS = `for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")`;
const SCRIPT_CHUNKS = `for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
}`;

function onMessages(of: SnippetOf, root: string): readonly Snippet[] {
  const { isStream = false, secret } = of;
  const body = messagesBody({ ...of, messages: withoutFiles(of.messages) });
  const sent = isStream ? { ...body, stream: true } : body;
  return inLanguages(
    `${exported(secret)}${curl(`${root}/v1/messages`, "x-api-key:", sent)}`,
    `${pythonHead("anthropic", "Anthropic", secret)}
client = Anthropic(base_url=${JSON.stringify(root)}, api_key=${pythonKey(secret)})
${
  isStream
    ? `with client.messages.stream(
${pythonArguments(body, MESSAGES_FIELDS)}
) as stream:
    for text in stream.text_stream:
        print(text, end="")`
    : `message = client.messages.create(
${pythonArguments(body, MESSAGES_FIELDS)}
)
print("".join(block.text for block in message.content if block.type == "text"))`
}`,
    `// npm install @anthropic-ai/sdk
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${JSON.stringify(root)},
  apiKey: ${scriptKey(secret)},
});
${
  isStream
    ? `const stream = client.messages.stream(${typed(body, MESSAGES_FIELDS, "Anthropic.MessageStreamParams")});
stream.on("text", (text) => process.stdout.write(text));
await stream.finalMessage();`
    : `const message = await client.messages.create(${typed(body, MESSAGES_FIELDS, "Anthropic.MessageCreateParamsNonStreaming")});
console.log(message.content.map((block) => (block.type === "text" ? block.text : "")).join(""));`
}`,
  );
}

export function inLanguages(bash: string, py: string, ts: string): readonly Snippet[] {
  return [
    { label: "curl", code: bash },
    { label: "Python", code: py },
    { label: "TypeScript", code: ts },
  ];
}

export const BEARER = "authorization: Bearer";

export function openAiClient(root: string, secret?: string): string {
  return `// npm install openai
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${JSON.stringify(`${root}/v1`)},
  apiKey: ${scriptKey(secret)},
});`;
}

export function pythonHead(module: string, client: string, secret?: string): string {
  return `# pip install ${module}\n${secret === undefined ? "import os\n" : ""}from ${module} import ${client}\n`;
}

export function pythonKey(secret?: string): string {
  return secret === undefined ? `os.environ["${KEY_VARIABLE}"]` : JSON.stringify(secret);
}

function scriptKey(secret: string | undefined): string {
  return secret === undefined ? `process.env.${KEY_VARIABLE}` : JSON.stringify(secret);
}

export function exported(secret: string | undefined): string {
  return secret === undefined ? "" : `export ${KEY_VARIABLE}=${secret}\n\n`;
}

function withoutFiles(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  return messages.map((message) => ({
    ...message,
    content:
      typeof message.content === "string" ? message.content : message.content.map(withoutData),
  }));
}

function withoutData(part: object): object {
  switch (member(part, "type")) {
    case "image_url": {
      const url = "data:image/png;base64,BASE64_OF_YOUR_IMAGE";
      return { type: "image_url", image_url: { url } };
    }
    case "file": {
      const filename = member(member(part, "file"), "filename");
      const file_data = "data:application/pdf;base64,BASE64_OF_YOUR_FILE";
      return { type: "file", file: { filename, file_data } };
    }
    case "input_audio": {
      const format = member(member(part, "input_audio"), "format");
      return { type: "input_audio", input_audio: { data: "BASE64_OF_YOUR_SOUND", format } };
    }
    default:
      return part;
  }
}

/** Writes a curl call. A single quote in the body becomes `'"'"'`, so that the shell keeps it. */
export function curl(url: string, keyHeader: string, body: object): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", `'"'"'`);
  return `curl -s${"stream" in body ? "N" : ""} ${url} \\
  -H "${keyHeader} $${KEY_VARIABLE}" \\
  -H "content-type: application/json" \\
  -d '${quoted}'`;
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/**
 * Usual fields that the client libraries know. A listing may declare any others, which the examples
 * pass as extra fields: a Python client refuses an argument that it does not know.
 */
const OPENAI_FIELDS = [
  "frequency_penalty",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "model",
  "presence_penalty",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "stream",
  "temperature",
  "tools",
  "top_logprobs",
  "top_p",
  "verbosity",
];
/** Anthropic's clients (TypeScript 1.x, Python 2.x) do not know `temperature`, `top_p`, `top_k`. */
const MESSAGES_FIELDS = [
  "max_tokens",
  "messages",
  "model",
  "output_config",
  "stop_sequences",
  "stream",
  "system",
  "thinking",
  "tools",
];

/** Writes a body as Python keyword arguments. Fields that are not `known` go into `extra_body`. */
export function pythonArguments(
  body: Readonly<Record<string, unknown>>,
  known: readonly string[],
): string {
  const entries = Object.entries(body);
  const others = entries.filter(([name]) => !known.includes(name));
  return [
    ...entries.filter(([name]) => known.includes(name)),
    ...(others.length === 0 ? [] : [["extra_body", Object.fromEntries(others)] as const]),
  ]
    .map(([name, value]) => `    ${name}=${python(value, "    ")},`)
    .join("\n");
}

/** Writes a body in TypeScript, cast to `type` if it has fields that are not `known` to `type`. */
export function typed(
  body: Readonly<Record<string, unknown>>,
  known: readonly string[],
  type: string,
): string {
  const isKnown = Object.keys(body).every((name) => known.includes(name));
  return isKnown ? script(body) : `${script(body)} as ${type}`;
}

/** Writes a JSON value as a TypeScript literal. Names are unquoted where TypeScript allows it. */
export function script(value: unknown): string {
  return json(value).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
}

export function python(value: unknown, indent = ""): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const entries = Array.isArray(value)
    ? value.map((each) => `${inner}${python(each, inner)},`)
    : Object.entries(value).map(
        ([name, each]) => `${inner}${JSON.stringify(name)}: ${python(each, inner)},`,
      );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return entries.length === 0 ? open + close : `${open}\n${entries.join("\n")}\n${indent}${close}`;
}
