import { asNumber, asObject, asText, membersOf } from "../../../kernel/index.ts";
import type { Lab } from "../probing/lab.ts";
import { describeFailure, isServed, type Observation } from "../probing/observation.ts";
import { failed, type Finding } from "../report/finding.ts";
import { answersIn, chosenIn, levelIn } from "./decision-flaws.ts";
import { decisionProbes, type ToldProbe } from "./decision-probes.ts";

/**
 * Checks that the model reads the start and the end of the state, and every question. A question
 * counts as unread if it is answered wrongly for two different states. `judgesAnswer` is false if C2
 * reports that usual answers cannot be used.
 */
export async function checkTold(
  lab: Lab,
  judgesAnswer: boolean,
): Promise<readonly (Finding | undefined)[]> {
  const parts: (Finding | undefined)[] = [];
  // Two states start with the same text, which exposes a cache keyed by a state's start.
  for (const [at, isFirst] of [true, false, false].entries()) {
    const first = decisionProbes.told(lab, { at, isFirst });
    const seen = await lab.ask(first);
    const wrong = findWrong(lab, first, seen);
    if (judgesAnswer) parts.push(unusableFinding(seen));
    if (wrong.size === 0) continue;
    const second = decisionProbes.told(lab, { at, isFirst, wrong });
    const seenAgain = await lab.ask(second);
    const again = findWrong(lab, second, seenAgain);
    if (judgesAnswer) parts.push(unusableFinding(seenAgain));
    const name = [...wrong.keys()].find((each) => again.has(each));
    if (name === undefined) continue;
    const what = `what the state says at its ${isFirst ? "start" : "end"}`;
    parts.push(failed(`question ${name} is answered against ${what}`, { probe: second.name }));
  }
  return parts;
}

function unusableFinding(seen: Observation): Finding | undefined {
  if (isServed(seen)) return undefined;
  return failed(`${seen.probe}: no usable answer: ${describeFailure(seen)}`);
}

function findWrong(
  { deployment: { decisions } }: Lab,
  { questions, truth, body }: ToldProbe,
  seen: Observation,
): ReadonlyMap<string, string | number> {
  const wrong = new Map<string, string | number>();
  if (!isServed(seen)) return wrong;
  const answers = new Map(answersIn(seen.body, decisions));
  for (const [at, { id, kind }] of questions.entries()) {
    const answer = answers.get(id) ?? answers.get(kind) ?? answers.get(`q${at + 1}`);
    if (answer === undefined || isTrue(answer, truth[id], String(body["state"]))) continue;
    wrong.set(id, chosenIn(answer) ?? levelIn(answer));
  }
  return wrong;
}

function isTrue(
  answer: unknown,
  truth: string | number | boolean | undefined,
  state: string,
): boolean {
  if (truth === undefined) return textsIn(answer).every((text) => state.includes(text));
  const level = asNumber(truth);
  // A neighboring level also passes, because the level can be a matter of opinion.
  if (level !== undefined) return Math.abs(levelIn(answer) - level) <= 1.5;
  if (truth !== true && truth !== false) return chosenIn(answer) === truth;
  const { noul, boolean, probability, value } = asObject(answer) ?? {};
  const likely = noul ?? boolean ?? probability ?? value ?? answer;
  const isYes = /^(yes|true)$/i.test(chosenIn(answer) ?? String(likely));
  return (asNumber(likely) ?? Number(isYes)) > 0.5 === truth;
}

function textsIn(answer: unknown): readonly string[] {
  if (Array.isArray(answer)) return answer.flatMap(textsIn);
  const { text, ...others } = asObject(answer) ?? { text: answer };
  const own = asText(text);
  if (own !== undefined) return [own];
  return Object.values(others).flatMap((each) => (membersOf(each) ? textsIn(each) : []));
}
