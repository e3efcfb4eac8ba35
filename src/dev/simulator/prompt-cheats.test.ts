import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postChat, readChat, type ChatSeen, type ChatWire } from "./fixtures/chat-client.ts";
import { startSimulator, type Simulator } from "./simulator.ts";

const WIRES = ["wire_a", "wire_b"] as const;
const QUESTION = "What is the code word?";
const UNKNOWN = "The prompt does not name the code word.";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, host: "127.0.0.1" });
});
afterAll(() => simulator.close());

interface Prompt {
  readonly system?: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

async function ask(wire: ChatWire, prompt: Prompt, fault?: string): Promise<ChatSeen> {
  const { system, messages } = prompt;
  const first =
    system === undefined || wire === "wire_b" ? [] : [{ role: "system", content: system }];
  const body = {
    model: "m",
    max_tokens: 500,
    messages: [...first, ...messages],
    ...(system === undefined || wire === "wire_a" ? {} : { system }),
  };
  return readChat(wire, await postChat(simulator.url, wire, { body, ...(fault ? { fault } : {}) }));
}

function user(content: unknown): Prompt {
  return { messages: [{ role: "user", content }] };
}

/** Text of so many tokens, in which no fact is. */
function filler(tokens: number): string {
  return "sea ".repeat(tokens);
}

describe("the code word", () => {
  const fact = "The code word is plum-7.";

  test.each(WIRES)("%s: is known wherever the prompt names it", async (wire) => {
    const question = { role: "user", content: QUESTION };
    const earlier = { role: "user", content: `Remember: ${fact} Thanks.` };
    const answer = { role: "assistant", content: "I will." };
    const prompts: readonly Prompt[] = [
      user(`${fact} ${filler(3_000)} ${QUESTION}`),
      { system: fact, messages: [question] },
      { messages: [earlier, answer, question] },
      user([
        { type: "text", text: fact },
        { type: "text", text: QUESTION },
      ]),
    ];
    for (const prompt of prompts) expect((await ask(wire, prompt)).text).toBe(fact);
  });

  test.each(WIRES)("%s: the last one counts, and it is not guessed", async (wire) => {
    const twice = user(`${fact} The code word is pear. ${QUESTION}`);
    expect((await ask(wire, twice)).text).toBe("The code word is pear.");
    expect((await ask(wire, user(QUESTION))).text).toBe(UNKNOWN);
    expect((await ask(wire, user(fact))).text).toBe(`You said: ${fact}`);
  });

  test.each(WIRES)("%s: context-truncated forgets it beyond 2,000 tokens", async (wire) => {
    const fault = "cheat:context-truncated";
    const near = user(`${fact} ${filler(1_950)} ${QUESTION}`);
    expect(await ask(wire, near, fault)).toEqual(await ask(wire, near));
    const far: readonly Prompt[] = [
      user(`${fact} ${filler(2_000)} ${QUESTION}`),
      { system: fact, messages: [{ role: "user", content: filler(2_000) + QUESTION }] },
      user([
        { type: "text", text: fact },
        { type: "text", text: filler(2_000) + QUESTION },
      ]),
    ];
    for (const prompt of far) {
      const honest = await ask(wire, prompt);
      expect(honest.text).toBe(fact);
      const usage = { ...honest.usage, output: Math.ceil(UNKNOWN.length / 4) };
      expect(await ask(wire, prompt, fault)).toEqual({ ...honest, text: UNKNOWN, usage });
    }
  });
});

const RED = "iVBORw0KGgo=";
const BLUE = "iVBORw0KGgp=";

function partOf(wire: ChatWire, data: string): object {
  return wire === "wire_a"
    ? { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }
    : { type: "image", source: { type: "base64", media_type: "image/png", data } };
}

describe("media parts", () => {
  const text = { type: "text", text: "hi" };

  test.each(WIRES)("%s: an image is named by its content", async (wire) => {
    const red = await ask(wire, user([text, partOf(wire, RED)]));
    expect(red.text).toMatch(/^You said: hi You sent image [0-9a-f]{8}\.$/);
    expect((await ask(wire, user([text, partOf(wire, RED)]))).text).toBe(red.text);
    expect((await ask(wire, user([text, partOf(wire, BLUE)]))).text).not.toBe(red.text);
  });

  test("the same image has one digest on both wires", async () => {
    const texts = WIRES.map(async (wire) => (await ask(wire, user([partOf(wire, RED)]))).text);
    const [one, other] = await Promise.all(texts);
    expect(one).toBe(other);
  });

  test("every kind of part is named, also when an answer follows it", async () => {
    const parts = [
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" } },
      { type: "video_url", video_url: { url: "https://a.test/v.mp4" } },
      { type: "file", file: { file_id: "f-1" } },
    ];
    const messages = [
      { role: "user", content: parts },
      { role: "assistant", content: "I see." },
      { role: "user", content: "hi" },
    ];
    const hex = "[0-9a-f]{8}";
    const kinds = ["audio", "file", "video", "file"].map((kind) => `You sent ${kind} ${hex}\\.`);
    const { text: said } = await ask("wire_a", { messages });
    expect(said).toMatch(new RegExp(`^You said: hi ${kinds.join(" ")}$`));
    expect(new Set(said.match(/[0-9a-f]{8}/g)).size).toBe(4);
  });

  test("a document and the image of a tool result are named", async () => {
    const source = { type: "text", media_type: "text/plain", data: "a text" };
    const document = { type: "document", source };
    const { text: said } = await ask("wire_b", user([text, document]));
    expect(said).toMatch(/You sent file [0-9a-f]{8}\.$/);
  });

  test.each(WIRES)("%s: image-ignored takes its influence away, and nothing else", async (wire) => {
    const fault = "cheat:image-ignored";
    const red = user([text, partOf(wire, RED)]);
    const honest = await ask(wire, red);
    const output = Math.ceil("You said: hi".length / 4);
    const ignored = { ...honest, text: "You said: hi", usage: { ...honest.usage, output } };
    expect(await ask(wire, red, fault)).toEqual(ignored);
    expect(await ask(wire, user([text, partOf(wire, BLUE)]), fault)).toEqual(ignored);
  });

  test("image-ignored leaves other parts alone", async () => {
    const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    const prompt = user([text, audio]);
    const fault = "cheat:image-ignored";
    expect(await ask("wire_a", prompt, fault)).toEqual(await ask("wire_a", prompt));
  });
});
