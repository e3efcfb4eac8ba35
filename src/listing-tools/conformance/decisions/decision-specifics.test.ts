import { describe, expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import { ZERO_USAGE } from "../../../kernel/core/usage.ts";
import { decisionSpecifics } from "./decision-specifics.ts";
import {
  type Answer,
  decisionListing,
  stubLab,
} from "../../../../test/fixtures/conformance/stub-lab.ts";
import type { Probe } from "../probing/lab.ts";
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

describe("C11 of a decisions listing", () => {
  const gliner = ["classification", "boolean", "entities", "relations", "structure"];
  test.each([
    ["systemone", {}, ["choice", "noul", "score"]],
    ["systemone with images", { decisions_image_parts: true }, ["choice", "noul", "score", "box"]],
    ["gliner", { decisions_wire: "gliner" }, gliner],
  ])("asks every kind of question of %s", async (_wire, listing, kinds) => {
    const { status, evidence, asked } = await findingOf(decisionListing(listing), once);
    expect(status).toBe("pass");
    expect(evidence?.["kinds"]).toEqual(kinds);
    expect(asked).toEqual(expect.arrayContaining(kinds.map((kind) => `question: ${kind}`)));
  });

  test("fails and names a kind of question that is refused", async () => {
    const { status, message } = await findingOf(decisionListing(), (probe) =>
      probe.name === "question: score" ? { status: 422 } : once(probe),
    );
    expect(status).toBe("fail");
    expect(message).toContain("kind score gets no usable answer");
  });
});

describe("C11 compares how the state is billed with the listing", () => {
  const declared = decisionListing({ decisions_state_per_question: true });
  test.each([
    ["passes a state billed once, undeclared", decisionListing(), once, "pass"],
    ["passes a state billed per question, as declared", declared, perQuestion, "pass"],
    ["fails a state billed per question, undeclared", decisionListing(), perQuestion, "fail"],
    ["warns of a state billed once, declared per question", declared, once, "warn"],
  ])("%s", async (_what, deployment, answer, status) => {
    expect(await findingOf(deployment, answer)).toMatchObject({ status });
  });
});

describe("questions whose answers are in the state", () => {
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
    ["in a field named value", (value) => ({ value })],
    ["in the fields of the wire", (truth) => wireAnswer(truth)],
    ["as bare values", (truth) => (typeof truth === "number" ? { value: truth } : truth)],
  ])("may be answered %s", async (_how, write) => {
    expect(await findingOf(decisionListing(), answering(write))).toMatchObject({ status: "pass" });
  });

  const alwaysRed = answering((truth) => wireAnswer(typeof truth === "string" ? "red" : truth));
  const unusable = (probe: Probe): Answer => (isTold(probe) ? { status: 500 } : once(probe));
  const wrongThenNone = (probe: Probe): Answer =>
    probe.name.endsWith(", again") ? unusable(probe) : answering(() => ({ value: "red" }))(probe);
  test.each<[string, (probe: Probe) => Answer]>([
    ["the same answer", alwaysRed],
    ["no usable answer", unusable],
    ["wrong answers, and then none", wrongThenNone],
  ])("fail C11 if they get %s", async (_how, answer) => {
    expect(await findingOf(decisionListing(), answer)).toMatchObject({ status: "fail" });
  });
});

function wireAnswer(truth: unknown): object {
  if (typeof truth === "boolean") return { noul: truth ? 0.9 : 0.1 };
  return typeof truth === "number" ? { score: truth - 1 } : { choice: truth };
}

test("two questions of one name fail C11 if the provider answers them", async () => {
  const answerAll = ({ changeBody: _changed, ...probe }: Probe): Answer => once(probe);
  const message = "two questions of one name are answered with 200";
  expect(await findingOf(decisionListing(), answerAll)).toMatchObject({ status: "fail", message });
});

test("C11 is skipped when an ordinary request fails", async () => {
  const refused = (): Answer => ({ status: 500 });
  expect(await findingOf(decisionListing(), refused)).toMatchObject({ status: "skip" });
});
