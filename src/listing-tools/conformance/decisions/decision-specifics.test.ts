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

const STATE_TOKENS = 400;
const QUESTION_TOKENS = 20;

const usageOf = (prompt: number): NonNullable<Answer["usage"]> => ({ ...ZERO_USAGE, prompt });

/** A provider that counts the state once, or for each question. */
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
