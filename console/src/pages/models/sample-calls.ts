import type { Model } from "../../../../src/console-api/contract.ts";

export interface SampleCall {
  readonly label: string;
  readonly code: string;
}

/**
 * Runnable calls of a model; the key comes from the shell, so that it is not in the shell's
 * history.
 */
export function sampleCalls(model: Model, gatewayUrl: string): readonly SampleCall[] {
  const root = gatewayUrl.replace(/\/+$/, "");
  if (model.modality === "image") return imageCalls(model, root);
  if (model.modality === "video") return videoCalls(model, root);
  if (model.modality === "decisions") return decisionCalls(model, root);
  return chatCalls(model, root);
}

function chatCalls({ id }: Model, root: string): readonly SampleCall[] {
  const messages = [{ role: "user", content: "Hello" }];
  return [
    { label: "curl", code: curl(`${root}/v1/chat/completions`, { model: id, messages }) },
    {
      label: "curl, messages",
      code: curl(`${root}/v1/messages`, { model: id, max_tokens: 256, messages }),
    },
    { label: "OpenAI SDK", code: openAiChat(id, root) },
    { label: "OpenAI SDK, Python", code: openAiPython(id, root) },
    { label: "Anthropic SDK", code: anthropicMessages(id, root) },
  ];
}

function openAiChat(id: string, root: string): string {
  return `${openAiClient(root)}
const answer = await client.chat.completions.create({
  model: ${quote(id)},
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);`;
}

function openAiPython(id: string, root: string): string {
  return `import os
from openai import OpenAI

client = OpenAI(
    base_url=${quote(`${root}/v1`)},
    api_key=os.environ["TOKEN_MARKET_KEY"],
)
answer = client.chat.completions.create(
    model=${quote(id)},
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`;
}

function anthropicMessages(id: string, root: string): string {
  return `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${quote(root)},
  apiKey: process.env.TOKEN_MARKET_KEY,
});
const message = await client.messages.create({
  model: ${quote(id)},
  max_tokens: 256,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(message.content);`;
}

function imageCalls(model: Model, root: string): readonly SampleCall[] {
  const body = {
    model: model.id,
    prompt: "A red bicycle on a white wall",
    n: 1,
    ...firstValues(model, ["size", "aspect_ratio", "resolution", "quality"]),
  };
  return [
    { label: "curl", code: curl(`${root}/v1/images/generations`, body) },
    {
      label: "OpenAI SDK",
      code: `import { writeFile } from "node:fs/promises";
${openAiClient(root)}
const answer = await client.images.generate(${indented(body)});
await writeFile("image.png", Buffer.from(answer.data[0].b64_json, "base64"));`,
    },
  ];
}

function videoCalls(model: Model, root: string): readonly SampleCall[] {
  const seconds = model.parameters["seconds"]?.default;
  const body = {
    model: model.id,
    prompt: "Waves at a beach, seen from above",
    ...(typeof seconds === "number" ? { seconds } : {}),
    ...firstValues(model, ["size", "aspect_ratio", "resolution"]),
  };
  return [
    { label: "curl", code: curl(`${root}/v1/videos`, body) },
    {
      label: "Follow and fetch",
      code: `# The id is in the answer of the first call.
curl ${root}/v1/videos/VIDEO_ID \\
  -H "authorization: Bearer $TOKEN_MARKET_KEY"

# Once its status is "completed":
curl ${root}/v1/videos/VIDEO_ID/content \\
  -H "authorization: Bearer $TOKEN_MARKET_KEY" \\
  --output video.mp4`,
    },
  ];
}

function decisionCalls(model: Model, root: string): readonly SampleCall[] {
  const body =
    model.decisions_wire === "gliner"
      ? {
          model: model.id,
          state: "Ada Lovelace wrote to Charles Babbage from London.",
          questions: {
            people: { type: "entities", labels: ["person"] },
            tone: { type: "classification", labels: ["formal", "friendly"] },
          },
        }
      : {
          model: model.id,
          state: { subject: "Checkout is down", plan: "enterprise" },
          questions: {
            urgent: { schema: { type: "boolean" }, instructions: "Is this urgent?" },
            team: {
              schema: { type: "enum", values: ["billing", "shop"] },
              instructions: "Which team?",
            },
          },
        };
  return [{ label: "curl", code: curl(`${root}/v1/decisions`, body) }];
}

/** Of the first of two ways to name a size only: no listing takes both. */
function firstValues(model: Model, names: readonly string[]): Readonly<Record<string, unknown>> {
  const values = names.flatMap((name) => {
    const descriptor = model.parameters[name];
    const value = descriptor?.default ?? descriptor?.values?.[0];
    return value === undefined ? [] : [[name, value] as const];
  });
  const hasSize = values.some(([name]) => name === "size");
  return Object.fromEntries(values.filter(([name]) => !(hasSize && name === "aspect_ratio")));
}

function openAiClient(root: string): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${quote(`${root}/v1`)},
  apiKey: process.env.TOKEN_MARKET_KEY,
});`;
}

function curl(address: string, body: object): string {
  return [
    `curl ${address} \\`,
    `  -H "authorization: Bearer $TOKEN_MARKET_KEY" \\`,
    `  -H "content-type: application/json" \\`,
    `  -d '${JSON.stringify(body, undefined, 2).replaceAll("'", String.raw`'\''`)}'`,
  ].join("\n");
}

function indented(body: object): string {
  return JSON.stringify(body, undefined, 2).replaceAll(/^( +)"(\w+)":/gm, "$1$2:");
}

function quote(text: string): string {
  return JSON.stringify(text);
}
