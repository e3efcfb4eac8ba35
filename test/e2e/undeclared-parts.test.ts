import { expect, test } from "vitest";

import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall } from "../support/http-call.ts";

const MODEL = "test/senses";

function listing(provider: string, dialect: "wire_a" | "wire_b", ...kinds: string[]): object {
  const model = textModel(MODEL, { input_modalities: ["text", ...kinds] });
  return simulatorManifest({ provider, dialect, models: [model] });
}

const gateway = withGateway({
  manifests: [
    listing("sees", "wire_a", "image"),
    listing("hears", "wire_a", "audio"),
    listing("reads", "wire_b", "file"),
  ],
});
const account = withAccount(gateway, "5.00");

const PARTS = {
  image: { type: "image_url", image_url: { url: "https://a.test/i.png" } },
  audio: { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
  video: { type: "video_url", video_url: { url: "https://a.test/v.mp4" } },
  file: { type: "file", file: { file_data: "data:application/pdf;base64,AAAA" } },
};

async function refusedFor(...kinds: (keyof typeof PARTS)[]): Promise<string> {
  const content = kinds.map((kind) => PARTS[kind]);
  const body = { model: MODEL, messages: [{ role: "user", content }] };
  const url = `${gateway.url}/v1/chat/completions`;
  const answer = await httpCall(url, { body, headers: bearer(account.key) });
  expect(answer.status).toBe(400);
  return String(at(answer.json, "error.message"));
}

test("a part that no listing accepts is refused with the kinds that the model accepts", async () => {
  expect(await refusedFor("video")).toBe(
    `messages[0].content[0] is a part of kind video; ${MODEL} accepts text, audio, file, image; ` +
      "send one of these or choose a model that accepts video",
  );
  expect(await refusedFor("image", "video")).toContain("messages[0].content[1] is a part of kind");
});

test("kinds that no listing accepts together are named, with what one listing accepts", async () => {
  const message = await refusedFor("image", "audio");
  expect(message).toMatch(/no listing of test\/senses accepts every part of this request/);
  expect(message).toMatch(
    /is a part of kind (image|audio); the listing of (sees|hears) accepts text/,
  );
});

test("a declared part that cannot be translated is refused for that reason", async () => {
  expect(await refusedFor("file")).toMatch(
    /messages\[0\]\.content\[0\] is a part of kind file, which/,
  );
});
