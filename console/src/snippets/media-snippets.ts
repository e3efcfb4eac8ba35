import type { Model } from "../api/contract.ts";
import {
  BEARER,
  curl,
  helloSnippets,
  inLanguages,
  KEY_VARIABLE,
  openAiClient,
  pythonArguments,
  python,
  pythonHead,
  pythonKey,
  script,
  type Snippet,
  type SnippetWire,
  typed,
} from "./chat-snippets.ts";

export function modelSnippets(
  model: Model,
  gatewayUrl: string,
  wire: SnippetWire = "chat",
): readonly Snippet[] {
  if (model.modality === "text") return helloSnippets(wire, { gatewayUrl, modelId: model.id });
  return bodySnippets(model.modality, gatewayUrl, sampleBody(model));
}

export function bodySnippets(
  modality: Exclude<Model["modality"], "text">,
  gatewayUrl: string,
  body: Body,
): readonly Snippet[] {
  const root = gatewayUrl.replace(/\/+$/, "");
  if (modality === "image") return imageCalls(body, root);
  return modality === "video" ? videoCalls(body, root) : decisionCalls(body, root);
}

type Body = Readonly<Record<string, unknown>>;

function sampleBody(model: Model): Body {
  if (model.modality === "decisions") return { model: model.id, ...decisionSample(model) };
  if (model.modality === "image") {
    const values = firstValues(model, ["size", "aspect_ratio", "resolution", "quality"]);
    return { model: model.id, prompt: "A red bicycle on a white wall", n: 1, ...values };
  }
  const seconds = model.parameters["seconds"]?.default;
  return {
    model: model.id,
    prompt: "Waves at a beach, seen from above",
    ...(typeof seconds === "number" ? { seconds } : {}),
    ...firstValues(model, ["size", "aspect_ratio", "resolution"]),
  };
}

function imageCalls(body: Body, root: string): readonly Snippet[] {
  return inLanguages(
    curl(`${root}/v1/images/generations`, BEARER, body),
    `${pythonHead("openai", "OpenAI").replace("import os", "import base64\nimport os")}
client = OpenAI(
    base_url=${JSON.stringify(`${root}/v1`)},
    api_key=${pythonKey()},
)
answer = client.images.generate(
${pythonArguments(body, IMAGE_FIELDS)}
)
with open("image.png", "wb") as file:
    file.write(base64.b64decode(answer.data[0].b64_json))`,
    `import { writeFile } from "node:fs/promises";
${openAiClient(root)}
const answer = await client.images.generate(${typed(body, IMAGE_FIELDS, "OpenAI.ImageGenerateParamsNonStreaming")});
await writeFile("image.png", Buffer.from(answer.data?.[0]?.b64_json ?? "", "base64"));`,
  );
}

/** Fields that the client library knows; models may also have `aspect_ratio`, `seed` and others. */
const IMAGE_FIELDS = [
  "background",
  "model",
  "n",
  "output_compression",
  "output_format",
  "prompt",
  "quality",
  "size",
];

function videoCalls(body: Body, root: string): readonly Snippet[] {
  const videos = `${root}/v1/videos`;
  const key = `  -H "authorization: Bearer $${KEY_VARIABLE}"`;
  return inLanguages(
    `# Ask for the video; the answer has its id.
${curl(videos, BEARER, body)}

# Ask for its status until that is "completed".
curl -s ${videos}/VIDEO_ID \\
${key}

# Download it.
curl -s ${videos}/VIDEO_ID/content \\
${key} \\
  --output video.mp4`,
    `${pythonRequests("import time\n")}
video = requests.post(
    "${videos}",
    headers=headers,
    json=${python(body, "    ")},
).json()
while video.get("status") in ("queued", "in_progress"):
    time.sleep(5)
    video = requests.get(f"${videos}/{video['id']}", headers=headers).json()
if video.get("status") != "completed":
    raise SystemExit(video["error"]["message"])
with open("video.mp4", "wb") as file:
    file.write(requests.get(f"${videos}/{video['id']}/content", headers=headers).content)`,
    `import { writeFile } from "node:fs/promises";

${SCRIPT_HEADERS}
let video = await (
  await fetch("${videos}", {
    method: "POST",
    headers,
    body: JSON.stringify(${script(body)}),
  })
).json();
while (["queued", "in_progress"].includes(video.status)) {
  await new Promise((resolve) => setTimeout(resolve, 5000));
  video = await (await fetch(\`${videos}/\${video.id}\`, { headers })).json();
}
if (video.status !== "completed") throw new Error(video.error.message);
const file = await fetch(\`${videos}/\${video.id}/content\`, { headers });
await writeFile("video.mp4", Buffer.from(await file.arrayBuffer()));`,
  );
}

/** Writes the imports and headers of a call with `requests`. `imports` has whole lines. */
function pythonRequests(imports = ""): string {
  return `# pip install requests
import os
${imports}import requests

headers = {"authorization": f"Bearer {${pythonKey().replaceAll('"', "'")}}"}
`;
}

const SCRIPT_HEADERS = `const headers = {
  authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\`,
  "content-type": "application/json",
};`;

function decisionSample(model: Model): Body {
  return model.decisions_wire === "gliner"
    ? {
        state: "Ada Lovelace wrote to Charles Babbage from London.",
        questions: {
          people: { type: "entities", labels: ["person"] },
          tone: { type: "classification", labels: ["formal", "friendly"] },
        },
      }
    : {
        state: { subject: "Checkout is down", plan: "enterprise" },
        questions: {
          urgent: { schema: { type: "boolean" }, instructions: "Is this urgent?" },
          team: {
            schema: { type: "enum", values: ["billing", "shop"] },
            instructions: "Which team?",
          },
        },
      };
}

function decisionCalls(body: Body, root: string): readonly Snippet[] {
  const address = `${root}/v1/decisions`;
  return inLanguages(
    curl(address, BEARER, body),
    `${pythonRequests()}
answer = requests.post(
    "${address}",
    headers=headers,
    json=${python(body, "    ")},
)
print(answer.json())`,
    `${SCRIPT_HEADERS}
const answer = await fetch("${address}", {
  method: "POST",
  headers,
  body: JSON.stringify(${script(body)}),
});
console.log(await answer.json());`,
  );
}

/** The default of each parameter, or its first value. With a `size`, leaves out `aspect_ratio`. */
function firstValues(model: Model, names: readonly string[]): Readonly<Record<string, unknown>> {
  const values = names.flatMap((name) => {
    const descriptor = model.parameters[name];
    const value = descriptor?.default ?? descriptor?.values?.[0];
    return value === undefined ? [] : [[name, value] as const];
  });
  const hasSize = values.some(([name]) => name === "size");
  return Object.fromEntries(values.filter(([name]) => !(hasSize && name === "aspect_ratio")));
}
