import { describe, expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import {
  type Answer,
  chatListing,
  decisionListing,
  runOn,
  stubLab,
} from "../../../../test/fixtures/conformance/stub-lab.ts";
import type { Probe } from "../probing/lab.ts";
import type { FactProbe } from "../chat/fact-probes.ts";
import { declaredInputs } from "./c10-inputs.ts";

const everything = chatListing(["text", "image", "file", "audio", "video"]);

/** A text, a complete answer, or `unsent` for a probe that the budget does not cover. */
type Said = string | Answer;
type Say = (probe: Probe) => Said;

const READ_WORD = /input: (\w+)/;
const MANY_IMAGES = /(red|blue) (red|blue)/;

/** The answer of a model that reads everything. */
function honest(probe: Probe): string {
  if (isFacts(probe)) return probe.facts.map(({ value }) => value).join(" ");
  return READ_WORD.exec(probe.name)?.[1] ?? MANY_IMAGES.exec(probe.name)?.[0] ?? "lemon";
}

function isFacts(probe: Probe): probe is FactProbe {
  return "facts" in probe;
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
  return { ...(await runOn(lab, declaredInputs)), asked };
}

function inWire({ wire }: Deployment, text: string): object {
  return wire === "wire_a"
    ? { choices: [{ message: { role: "assistant", content: text } }] }
    : { content: [{ type: "text", text }] };
}

describe("C10 passes a listing", () => {
  test("that reads every declared kind of file and a long text", async () => {
    const { status, message, asked } = await findingOf(everything);
    expect(status).toBe("pass");
    expect(message).toContain("image: read; file: read; audio: read; video: read; ");
    expect(asked.map(({ name }) => name).filter((name) => !name.includes("fact"))).toEqual([
      "short answer",
      "image input: red",
      "image input: blue",
      "file input: plum",
      "file input: quince",
      "audio input: tone",
      "audio input: silence",
      "video input: red",
      "video input: blue",
      "two images, red red, the last",
      "two images, red blue, the last",
      "two images, red red, the first",
      "two images, blue red, the first",
    ]);
  });

  test("that answers in other words only if it repeats its answers", async () => {
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

describe("C10 does not pass a declared image input", () => {
  const image = chatListing(["text", "image"]);
  /** Answers a prompt with two images by calling `answer` with the colors of both images. */
  const ofTwo =
    (answer: (first: string, last: string) => string): Say =>
    (probe) => {
      const [, first = "", last = ""] = MANY_IMAGES.exec(probe.name) ?? [];
      return first === "" ? honest(probe) : answer(first, last);
    };

  test("if one of two images in a prompt is not read", async () => {
    const readsFirst = ofTwo((first) => first);
    const readsLast = ofTwo((_first, last) => last);
    for (const [unread, say] of [
      ["last", readsFirst],
      ["first", readsLast],
    ] as const) {
      const message = `of two images in a prompt the ${unread} one is not read`;
      expect(await findingOf(image, say)).toMatchObject({ status: "fail", message });
    }
  });

  const about =
    (answer: string | Answer): Say =>
    (probe) =>
      READ_WORD.test(probe.name) ? answer : honest(probe);

  test.each<[string, Say, string, string]>([
    ["if two images get the same answer", about("Red."), "fail", "get the same answer"],
    ["if it is refused", about({ status: 400 }), "fail", "a declared image is answered with 400"],
    ["if it gets no text", about(""), "warn", "gets no text"],
  ])("%s", async (_what, say, status, message) => {
    const found = await findingOf(image, say);
    expect(found.status).toBe(status);
    expect(found.message).toContain(message);
  });
});

describe("a fact of a prompt", () => {
  const text = chatListing(["text"]);
  /** Answers fact probes whose name contains `part` with `answer`, and other probes honestly. */
  const facts =
    (part: string, answer: (probe: FactProbe) => Said): Say =>
    (probe) =>
      isFacts(probe) && probe.name.includes(part) ? answer(probe) : honest(probe);
  const without =
    (place: string) =>
    ({ facts: all }: FactProbe): string =>
      all.flatMap((fact) => (fact.place === place ? [] : [fact.value])).join(" ");

  const ofSystem = without("the system message");
  const ofEarlier = without("an earlier answer");
  test.each<[string, string, (probe: FactProbe) => Said, string, string]>([
    ["is unknown", "12000", without("the middle of a long text"), "fail", "the middle of a long"],
    ["is lost from the system message", "facts", ofSystem, "fail", "the system"],
    ["is lost from an earlier answer", ", stream", ofEarlier, "fail", "an earlier"],
    ["is refused", "12000", () => ({ status: 400 }), "fail", "answered with 400"],
    ["gets no text", "12000", () => "", "warn", "gets no text"],
    ["is over the budget", "12000", () => "unsent", "skip", "over the budget"],
  ])("that %s does not pass C10", async (_what, part, answer, status, message) => {
    const found = await findingOf(text, facts(part, answer));
    expect(found.status).toBe(status);
    expect(found.message).toContain(message);
  });

  test("that the model misses once is asked for again, and then passes", async () => {
    const again: Say = (probe) =>
      isFacts(probe) && /\.1,/.test(probe.name) ? "I do not know." : honest(probe);
    expect(await findingOf(text, again)).toMatchObject({ status: "pass" });
  });

  test("is not asked for with thinking and tools in one request", async () => {
    const parameters = { thinking: { type: "boolean" }, tools: { type: "boolean" } };
    const { asked } = await findingOf(chatListing(["text"], { parameters }));
    const ofThinking = asked.filter(isFacts).filter(({ about }) => about.includes("thinking"));
    expect(ofThinking.length).toBeGreaterThan(0);
    expect(ofThinking.filter(({ hasTools }) => hasTools)).toEqual([]);
  });

  test("from another request in the answer is reported as an answer to another request", async () => {
    let first: string | undefined;
    const kept = facts("facts", (probe) => (first ??= honest(probe)));
    expect((await findingOf(text, kept)).message).toBe("an answer is one to another request");
  });
});

test("C10 is skipped when an ordinary request fails", async () => {
  expect(await findingOf(everything, () => ({ status: 503 }))).toMatchObject({ status: "skip" });
});

describe("a decisions listing that declares images", () => {
  const listing = decisionListing({ decisions_image_parts: true });
  const answerOf = (share: number, choice = "red"): Answer => ({
    body: { answers: { colour: { choice, probabilities: { red: share } } } },
  });

  test("passes C10 only if two images get different answers", async () => {
    const read: Say = ({ name }) => answerOf(name.endsWith("red") ? 0.9 : 0.8);
    expect(await findingOf(listing, read)).toMatchObject({ status: "pass" });
    expect(await findingOf(listing, () => answerOf(0.9))).toMatchObject({ status: "fail" });
  });

  test("passes C10 by different choices, not by probabilities that vary at random", async () => {
    let asked = 0;
    const guess: Say = () => answerOf(1 / ++asked);
    expect(await findingOf(listing, guess)).toMatchObject({ status: "warn" });
    const read: Say = ({ name }) => answerOf(1 / ++asked, name.includes("blue") ? "blue" : "red");
    expect(await findingOf(listing, read)).toMatchObject({ status: "pass" });
  });
});
