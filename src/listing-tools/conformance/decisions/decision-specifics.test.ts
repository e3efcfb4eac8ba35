import { describe, expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import { ZERO_USAGE } from "../../../kernel/core/usage.ts";
import { decisionSpecifics } from "./decision-specifics.ts";
import {
  type Answer,
  decisionListing,
  stubLab,
} from "../../../../test/fixtures/conformance/stub-lab.ts";
import type { Probe } from "../probing/probe.ts";
import type { ToldProbe } from "./decision-probes.ts";

const STATE_TOKENS = 400;
const QUESTION_TOKENS = 20;

const usageOf = (prompt: number): NonNullable<Answer["usage"]> => ({ ...ZERO_USAGE, prompt });

/** A provider that, for `n` questions, bills the state `states(n)` times. */
function counting(states: (questions: number) => number): (probe: Probe) => Answer {
  return ({ body, changeBody }) => {
    if (changeBody !== undefined) return { status: 422 };
    const questions = Object.keys(body["questions"] ?? {}).length;
    return { usage: usageOf(states(questions) * STATE_TOKENS + questions * QUESTION_TOKENS) };
  };
}

const once = counting(() => 1);
const perQuestion = counting((questions) => questions);

async function findingOf(deployment: Deployment, answer: (probe: Probe) => Answer) {
  const asked: string[] = [];
  const lab = stubLab(deployment, (probe) => {
    asked.push(probe.name);
    return answer(probe);
  });
  return { ...(await decisionSpecifics(lab)), asked };
}

describe("each kind of question of the grammar is asked", () => {
  test.each([
    ["systemone", decisionListing(), ["choice", "noul", "score"]],
    [
      "systemone with images",
      decisionListing({ decisions_image_parts: true }),
      ["choice", "noul", "score", "box"],
    ],
    [
      "gliner",
      decisionListing({ decisions_wire: "gliner" }),
      ["classification", "boolean", "entities", "relations", "structure"],
    ],
  ])("%s", async (_wire, deployment, kinds) => {
    const { status, evidence, asked } = await findingOf(deployment, once);
    expect(status).toBe("pass");
    expect(evidence?.["kinds"]).toEqual(kinds);
    expect(asked).toEqual(expect.arrayContaining(kinds.map((kind) => `question: ${kind}`)));
  });

  test("and one that is refused is named", async () => {
    const { status, message } = await findingOf(decisionListing(), (probe) =>
      probe.name === "question: score" ? { status: 422 } : once(probe),
    );
    expect(status).toBe("fail");
    expect(message).toContain("kind score gets no usable answer");
  });
});

describe("how often the state is billed is what the listing declares", () => {
  const declared = decisionListing({ decisions_state_per_question: true });
  test.each([
    ["once, undeclared", decisionListing(), once, "pass"],
    ["for each question, declared", declared, perQuestion, "pass"],
    ["for each question, undeclared", decisionListing(), perQuestion, "fail"],
    ["once, declared for each question", declared, once, "warn"],
  ])("%s", async (_what, deployment, answer, status) => {
    expect(await findingOf(deployment, answer)).toMatchObject({ status });
  });
});

describe("questions whose answer the state says", () => {
  const isTold = (probe: Probe): probe is ToldProbe => "truth" in probe;
  /** A provider that answers as the state says. `write` gives each answer its form. */
  const answering =
    (write: (truth: unknown) => unknown) =>
    (probe: Probe): Answer => {
      if (!isTold(probe)) return once(probe);
      const answers = Object.entries(probe.truth).map(([id, truth]) => [id, write(truth)]);
      return { ...once(probe), body: { answers: Object.fromEntries(answers) as unknown } };
    };

  test.each<[string, (truth: unknown) => unknown]>([
    ["as plain values", (value) => ({ value })],
    ["under the names of the wire", (truth) => wireAnswer(truth)],
    ["as nothing but the value", (truth) => (typeof truth === "number" ? { value: truth } : truth)],
  ])("may be answered %s", async (_how, write) => {
    expect(await findingOf(decisionListing(), answering(write))).toMatchObject({ status: "pass" });
  });

  test.each<[string, (probe: Probe) => Answer]>([
    [
      "the same answer to all",
      answering((truth) => wireAnswer(typeof truth === "string" ? "red" : truth)),
    ],
    ["no usable answer", (probe) => (isTold(probe) ? { status: 500 } : once(probe))],
    [
      "wrong answers, and then none",
      (probe) =>
        probe.name.endsWith(", again") && isTold(probe)
          ? { status: 500 }
          : answering(() => ({ value: "red" }))(probe),
    ],
  ])("with %s, the provider fails", async (_how, answer) => {
    expect(await findingOf(decisionListing(), answer)).toMatchObject({ status: "fail" });
  });
});

function wireAnswer(truth: unknown): object {
  if (typeof truth === "boolean") return { noul: truth ? 0.9 : 0.1 };
  return typeof truth === "number" ? { score: truth - 1 } : { choice: truth };
}

describe("two questions of one name", () => {
  test("are not answered", async () => {
    const { status, message } = await findingOf(
      decisionListing(),
      ({ changeBody: _changed, ...probe }) => once(probe),
    );
    expect(status).toBe("fail");
    expect(message).toBe("two questions of one name are answered with 200");
  });
});

test("where a usual request is refused, C11 has nothing to say", async () => {
  const refused = (): Answer => ({ status: 500 });
  expect(await findingOf(decisionListing(), refused)).toMatchObject({ status: "skip" });
});
