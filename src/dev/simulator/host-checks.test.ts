import { expect, test } from "vitest";
import { withResource } from "../../../test/support/with-resource.ts";
import { startSimulator } from "./simulator.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const VERSION = { "anthropic-version": "2023-06-01" };

const simulator = withResource(() => startSimulator());

async function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(simulator.url + path, init);
  return { status: response.status, text: await response.text() };
}

const user = { role: "user", content: "hi" };
const orphan = { role: "tool", tool_call_id: "a", content: "" };
const use = { type: "tool_use", id: "a", name: "f", input: {} };
const called = { role: "assistant", content: [use] };
const tool = { name: "f", input_schema: { type: "object" } };
const answered = { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] };
const twice = [user, called, answered, called, answered];
const said = { model: "m", max_tokens: 9, messages: [user] };
const picture = { model: "painter", prompt: "a red bicycle" };
const urgent = { type: "noul", instructions: "Is it urgent?" };
const asked = { model: "decider", state: "a problem", questions: { urgent } };
const box = { type: "box", instructions: "Where?" };
const photo = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
const read = { model: "reader", text: "Ada is happy", schema: { entities: ["person"] } };

/** Requests that real providers of each kind refuse, and that the simulator must refuse, too. */
test.each([
  [CHAT, { ...said, models: ["b"] }, 400, "models"],
  [CHAT, { ...said, model: "unknown-x" }, 404, "model_not_found"],
  [CHAT, { ...said, max_completion_tokens: 1 }, 400, "max_completion_tokens"],
  [CHAT, { ...said, messages: [user, orphan] }, 400, "role 'tool'"],
  [MESSAGES, { ...said, model: "unknown-x" }, 404, "not_found_error"],
  [MESSAGES, { ...said, stream_options: {} }, 400, "stream_options: Extra inputs"],
  [MESSAGES, { ...said, thinking: { type: "adaptive", block_binding: {} } }, 400, "block_bind"],
  [MESSAGES, { ...said, thinking: { type: "adaptive", display: "updates" } }, 400, "display: "],
  [MESSAGES, { ...said, messages: [user, called], tools: [tool] }, 400, "immediately after: a"],
  [MESSAGES, { ...said, messages: twice, tools: [tool] }, 400, "ids must be unique"],
  [MESSAGES, { ...said, messages: [user, { role: "user", content: "" }] }, 400, "non-empty"],
  ["/img/v1/images", { ...picture, model: "unknown-painter" }, 404, "model"],
  ["/img/v1/images", { ...picture, aspect_ratio: "1:1" }, 400, "aspect_ratio: Extra"],
  ["/img/v1/images", { ...picture, size: "1000x1000" }, 400, "size: Input"],
  ["/imgor/v1/images", { ...picture, size: "1024x1024" }, 400, "size: Extra"],
  ["/vid/v1/videos", { ...picture, resolution: "720p" }, 400, "resolution: Extra"],
  ["/vidor/v1/videos", { ...picture, generate_audio: "yes" }, 400, "generate_audio: Input"],
  ["/sys/v1/systemone", { ...asked, temperature: 1 }, 422, "temperature: Extra"],
  ["/sys/v1/systemone", { ...asked, questions: { box } }, 422, "needs an image"],
  ["/sys/v1/systemone", { ...asked, state: "x".repeat(140_000) }, 400, "length of 32000"],
  ["/pplx/v1/decisions", { ...asked, state: photo, questions: { box } }, 400, "only data URLs"],
  ["/wai/v1/run/clef", { ...asked, state: "x".repeat(262_144) }, 413, "5021"],
  ["/sys/v1/as_sent", { ...asked, questions: [urgent, { ...urgent, name: "q1" }] }, 422, "q1"],
  ["/gli/v1/gliner-2", { ...read, questions: {} }, 422, "questions: Extra"],
])("%s refuses %j with %i", async (path, body, status, words) => {
  const answer = await post(path, body, VERSION);
  expect(answer.text).toContain(words);
  expect(answer.status).toBe(status);
});

test.each([
  [CHAT, said],
  ["/img/v1/images", picture],
  ["/gli/v1/gliner-2", read],
])("%s refuses a wrong key, and a customer's key", async (path, body) => {
  for (const key of ["sk-invalid", `tm_vk_${"a".repeat(48)}`]) {
    const headers = { ...VERSION, authorization: `Bearer ${key}` };
    expect((await post(path, body, headers)).status).toBe(401);
  }
  expect((await post(path, body, VERSION)).status).toBeLessThan(300);
});
