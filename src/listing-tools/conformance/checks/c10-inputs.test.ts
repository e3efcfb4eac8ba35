import { describe, expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import { type Answer, chatListing, decisionListing, stubLab } from "../fixtures/stub-lab.ts";
import type { Probe } from "../probing/probe.ts";
import { declaredInputs } from "./c10-inputs.ts";

const everything = chatListing(["text", "image", "file", "audio", "video"]);

/** What comes back: a text, an answer, or `unsent`. */
type Said = string | Answer;
type Say = (probe: Probe) => Said;

const READ_WORD = /input: (\w+)/;

/** What a model that reads everything says. */
function honest({ name }: Probe): string {
  if (name.startsWith("a fact before")) return "The code word is marigold.";
  return READ_WORD.exec(name)?.[1] ?? "lemon";
}

async function findingOf(deployment: Deployment, say: Say = honest) {
  const asked: Probe[] = [];
  const lab = stubLab(deployment, (probe) => {
    asked.push(probe);
    const said = say(probe);
    return said === "unsent" || typeof said !== "string"
      ? said
      : { body: inWire(deployment, said) };
  });
  return { ...(await declaredInputs.run(lab)), asked };
}

function inWire({ wire }: Deployment, text: string): object {
  return wire === "wire_a"
    ? { choices: [{ message: { role: "assistant", content: text } }] }
    : { content: [{ type: "text", text }] };
}

describe("a listing that reads what it declares passes", () => {
  test("every kind of file, and a long text", async () => {
    const { status, message, asked } = await findingOf(everything);
    expect(status).toBe("pass");
    expect(message).toContain("image: read; file: read; audio: read; video: read; a text of");
    expect(asked.map(({ name }) => name)).toEqual([
      "short answer",
      "image input: red",
      "image input: blue",
      "file input: plum",
      "file input: quince",
      "audio input: tone",
      "audio input: silence",
      "video input: red",
      "video input: blue",
      "a fact before 16000 tokens",
    ]);
  });

  test("where a wire has no part for a declared kind, the others are asked", async () => {
    const deployment = chatListing(["text", "image", "audio"], { dialect: "wire_b" });
    const { status, message } = await findingOf(deployment);
    expect(status).toBe("pass");
    expect(message).toContain("image: read; audio: not asked, because its wire has no such part");
  });

  test("an answer with other words has to be the same twice", async () => {
    const digest: Say = (probe) => `You sent ${honest(probe) === "red" ? "a1" : "b2"}.`;
    const image = chatListing(["text", "image"]);
    const sure: Say = (probe) => (READ_WORD.test(probe.name) ? digest(probe) : honest(probe));
    expect(await findingOf(image, sure)).toMatchObject({ status: "pass" });
    let count = 0;
    const unsure: Say = (probe) =>
      READ_WORD.test(probe.name) ? `I cannot say, take ${(count += 1)}.` : honest(probe);
    expect(await findingOf(image, unsure)).toMatchObject({ status: "warn" });
  });
});

describe("what is declared and not read is noticed", () => {
  const image = chatListing(["text", "image"]);
  const about =
    (answer: string | Answer): Say =>
    (probe) =>
      READ_WORD.test(probe.name) ? answer : honest(probe);

  test.each<[string, Say, string, string]>([
    ["the same answer to two images", about("Red."), "fail", "get the same answer"],
    ["a refusal", about({ status: 400 }), "fail", "a declared image is answered with 400"],
    ["a server error", about({ status: 500 }), "fail", "a declared image is answered with 500"],
    ["no text", about(""), "warn", "gets no text"],
  ])("%s", async (_what, say, status, message) => {
    const found = await findingOf(image, say);
    expect(found.status).toBe(status);
    expect(found.message).toContain(message);
  });
});

describe("the start of a long text", () => {
  const text = chatListing(["text"]);
  const long =
    (answer: Said): Say =>
    (probe) =>
      probe.name.startsWith("a fact before") ? answer : honest(probe);

  test.each<[string, Said, string]>([
    ["is not known", "I was not given a code word.", "fail"],
    ["is refused", { status: 400 }, "fail"],
    ["gets no text", "", "warn"],
    ["is over the budget", "unsent", "skip"],
    ["is known", "MARIGOLD", "pass"],
  ])("%s", async (_what, answer, status) => {
    expect(await findingOf(text, long(answer))).toMatchObject({ status });
  });

  test.each([
    [200_000, 64_000],
    [8_000, 19_200],
  ])("of a listing with a context of %i has %i characters", async (context, characters) => {
    const { asked } = await findingOf(chatListing(["text"], { context }));
    const messages = asked.at(-1)?.body["messages"] as { content: string }[] | undefined;
    const [message] = messages ?? [];
    const content = message?.content ?? "";
    expect(content).toMatch(/^The code word is marigold\.\n/);
    expect(content).toMatch(/What is the code word\? Answer with the code word alone\.$/);
    expect(Math.abs(content.length - characters)).toBeLessThan(10);
    expect(content.indexOf("marigold", 30)).toBe(-1);
  });
});

test("where a usual request is not answered, C10 has nothing to say", async () => {
  expect(await findingOf(everything, () => ({ status: 503 }))).toMatchObject({ status: "skip" });
});

describe("a decisions listing that declares images", () => {
  const listing = decisionListing({ decisions_image_parts: true });
  const answerOf = (share: number): Answer => ({
    body: { answers: { colour: { choice: "red", probabilities: { red: share } } } },
  });

  test("is asked about two, whose answers differ", async () => {
    const read: Say = ({ name }) => answerOf(name.endsWith("red") ? 0.9 : 0.8);
    expect(await findingOf(listing, read)).toMatchObject({ status: "pass" });
    expect(await findingOf(listing, () => answerOf(0.9))).toMatchObject({ status: "fail" });
  });

  test("is not asked where it declares none", () => {
    expect(declaredInputs.inapplicable(listing)).toBeUndefined();
    expect(declaredInputs.inapplicable(decisionListing())).toBe(
      "the listing does not declare images",
    );
  });
});
