import { member } from "../gateway.ts";
import type { RequestMessage } from "./chat-request.ts";

export type CodeWire = "chat" | "messages";

export interface CodeOf {
  readonly gatewayUrl: string;
  readonly modelId: string;
  readonly messages: readonly RequestMessage[];
  /** As they are sent on the chat-completions route. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface CodeSample {
  readonly label: string;
  readonly code: string;
}

/** The same call in three languages; a key is never in it, and files are named, not pasted. */
export function codeSamples(wire: CodeWire, of: CodeOf): readonly CodeSample[] {
  return wire === "chat" ? chatSamples(of) : messagesSamples(of);
}

function chatSamples(of: CodeOf): readonly CodeSample[] {
  const { gatewayUrl, modelId, parameters } = of;
  const messages = withoutFiles(of.messages);
  const body = { model: modelId, messages, ...parameters };
  return [
    {
      label: "curl",
      code: curl(`${gatewayUrl}/v1/chat/completions`, "authorization: Bearer", body),
    },
    {
      label: "TypeScript",
      code: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${JSON.stringify(`${gatewayUrl}/v1`)},
  apiKey: process.env.TM_KEY,
});

const stream = await client.chat.completions.create(${json({ ...body, stream: true })});
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
}`,
    },
    {
      label: "Python",
      code: `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(`${gatewayUrl}/v1`)}, api_key=os.environ["TM_KEY"])

stream = client.chat.completions.create(
${pythonArguments({ ...body, stream: true })}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")`,
    },
  ];
}

function messagesSamples(of: CodeOf): readonly CodeSample[] {
  const { gatewayUrl } = of;
  const body = messagesBody(of);
  return [
    { label: "curl", code: curl(`${gatewayUrl}/v1/messages`, "x-api-key:", body) },
    {
      label: "TypeScript",
      code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${JSON.stringify(gatewayUrl)},
  apiKey: process.env.TM_KEY,
});

const stream = client.messages.stream(${json(body)});
stream.on("text", (text) => process.stdout.write(text));
await stream.finalMessage();`,
    },
    {
      label: "Python",
      code: `import os
from anthropic import Anthropic

client = Anthropic(base_url=${JSON.stringify(gatewayUrl)}, api_key=os.environ["TM_KEY"])

with client.messages.stream(
${pythonArguments(body)}
) as stream:
    for text in stream.text_stream:
        print(text, end="")`,
    },
  ];
}

/** The same request in the format of the messages route, which wants an output bound. */
function messagesBody({ modelId, messages, parameters }: CodeOf): Record<string, unknown> {
  const system = messages.find(({ role }) => role === "system")?.content;
  const { stop, temperature, top_p, top_k } = parameters;
  return {
    model: modelId,
    max_tokens: parameters["max_tokens"] ?? parameters["max_completion_tokens"] ?? 4096,
    ...(system === undefined ? {} : { system }),
    messages: withoutFiles(messages.filter(({ role }) => role !== "system")).map(
      ({ role, content }) => ({ role, content: blocks(content) }),
    ),
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(top_k === undefined ? {} : { top_k }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
  };
}

function blocks(content: RequestMessage["content"]): RequestMessage["content"] {
  if (typeof content === "string") return content;
  return content.map((part) => {
    if (member(part, "type") === "image_url") {
      const source = { type: "base64", media_type: "image/png", data: "BASE64_OF_YOUR_IMAGE" };
      return { type: "image", source };
    }
    if (member(part, "type") === "file") {
      const source = { type: "base64", media_type: "application/pdf", data: "BASE64_OF_YOUR_FILE" };
      return { type: "document", source };
    }
    return part;
  });
}

function withoutFiles(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  return messages.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? content : content.map(withoutData),
  }));
}

function withoutData(part: object): object {
  switch (member(part, "type")) {
    case "image_url":
      return {
        type: "image_url",
        image_url: { url: "data:image/png;base64,BASE64_OF_YOUR_IMAGE" },
      };
    case "file": {
      const file_data = "data:application/pdf;base64,BASE64_OF_YOUR_FILE";
      return {
        type: "file",
        file: { filename: member(member(part, "file"), "filename"), file_data },
      };
    }
    case "input_audio": {
      const format = member(member(part, "input_audio"), "format");
      return { type: "input_audio", input_audio: { data: "BASE64_OF_YOUR_SOUND", format } };
    }
    default:
      return part;
  }
}

/** A call for a shell; single quotes of the text end the quoting for one character. */
export function curl(url: string, keyHeader: string, body: object): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", `'"'"'`);
  return `curl -s ${url} \\
  -H "${keyHeader} $TM_KEY" \\
  -H "content-type: application/json" \\
  -d '${quoted}'`;
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function pythonArguments(body: Readonly<Record<string, unknown>>): string {
  return Object.entries(body)
    .map(([name, value]) => `    ${name}=${python(value, "    ")},`)
    .join("\n");
}

/** A JSON value as a Python literal. */
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
