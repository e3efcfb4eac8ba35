import { expect, test } from "vitest";

import { parseVideoRequest } from "./parse-request.ts";

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

/** Returns the message that refuses this text, or a body with these members. */
function readRefusal(body: string | object): string | undefined {
  const text =
    typeof body === "string" ? body : JSON.stringify({ model: "m", prompt: "waves", ...body });
  const parsed = parseVideoRequest(Buffer.from(text));
  if (parsed.ok) return undefined;
  expect(parsed.refusal).toMatchObject({ class: "invalid_request", status: 400 });
  return parsed.refusal.message;
}

test.each<[object | string, RegExp]>([
  [{ model: undefined }, /^model /],
  [{ prompt: undefined }, /^prompt /],
  [{ prompt: "" }, /^prompt /],
  [{ prompt: 7 }, /^prompt /],
  [{ seconds: 4.5 }, /^seconds /],
  [{ seconds: "four" }, /^seconds /],
  [{ seconds: "4s" }, /^seconds /],
  [{ duration: 4 }, /^duration is not accepted; send seconds/],
  [{ stream: true }, /^stream /],
  [{ stream: 1 }, /^stream /],
  [{ n: 2 }, /^n /],
  [{ response_format: "url" }, /^response_format /],
  [{ api_key: "sk-x" }, /^api_key /],
  [{ base_url: "https://example.com" }, /^base_url /],
  [{ provider: { region: "eu" } }, /^provider\.region /],
  ['{"model":', /not valid JSON/],
  ["[]", /must be one JSON object/],
  ['{"model":"m","prompt":"a","prompt":"b"}', /prompt is duplicated/],
])("a request for a video with %j is refused: %s", (body, message) => {
  expect(readRefusal(body)).toMatch(message);
});

test.each<[string, object]>([
  ...["input_reference", "input_references", "image", "images", "image_url", "frame_images"].map(
    (name): [string, object] => [name, { [name]: "https://example.com/a.png" }],
  ),
  ...["reference_images", "first_frame", "last_frame"].map((name): [string, object] => [
    name,
    { [name]: [image] },
  ]),
  ["prompt", { prompt: [image] }],
  ["metadata", { metadata: { a: [1, { b: { type: "input_image" } }] } }],
  ["messages", { messages: [{ content: [image] }] }],
])("an image in %s is refused, and the message begins with the field's name", (field, body) => {
  const message = readRefusal(body);
  expect(message?.startsWith(field)).toBe(true);
  expect(message).toContain("a video is made from text alone");
});
