import type { Deployment } from "../../../catalog/index.ts";
import { promptTokensTotal } from "../../../kernel/index.ts";
import { decisionProbes } from "./decision-probes.ts";
import { failed, type Finding, passed, skipped, warned, chooseWorst } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import {
  describeFailure,
  isServed,
  type Observation,
  toUnsentFinding,
} from "../probing/observation.ts";
import { checkTold } from "./told-answers.ts";

/** C11 of decisions: all kinds are answered, names are unique, the state is billed as declared. */
export async function decisionSpecifics(lab: Lab): Promise<Finding> {
  const { deployment } = lab;
  const plain = await lab.ask(decisionProbes.one(deployment));
  if (plain.status !== 200) return skipped(`a usual request is answered with ${plain.status}`);
  const known = new Set(decisionProbes.several(deployment).questions.map(({ kind }) => kind));
  const probes = decisionProbes.kinds(deployment);
  const kinds = await lab.askEach(probes, (seen, { questions }) => {
    const kind = questions[0]?.kind ?? "";
    return kindFinding(kind, seen, isServed(plain) && !known.has(kind));
  });
  const parts = [
    ...kinds.parts,
    await sameNameFinding(lab),
    await countFinding(lab),
    ...(await checkTold(lab, isServed(plain))),
  ];
  const sure = passed(`${probes.length} kinds of question are answered`, {
    kinds: probes.map(({ questions }) => questions[0]?.kind ?? ""),
    is_state_per_question: isDeclaredPerQuestion(deployment),
  });
  const { unsent } = kinds;
  return chooseWorst(parts, unsent ? toUnsentFinding(unsent) : sure);
}

/** Without `judgesAnswer`, any 200 passes, because C2 judges the answers of this kind. */
function kindFinding(kind: string, seen: Observation, judgesAnswer: boolean): Finding | undefined {
  if (isServed(seen) || (seen.status === 200 && !judgesAnswer)) return undefined;
  const why = describeFailure(seen);
  const { status } = seen;
  return failed(`a question of kind ${kind} gets no usable answer: ${why}`, { kind, status });
}

/** A provider that accepts two questions with one name loses one of the answers. */
async function sameNameFinding(lab: Lab): Promise<Finding | undefined> {
  const probe = decisionProbes.sameName(lab.deployment);
  if (probe === undefined) return undefined;
  const { status } = await lab.ask(probe);
  if (status === null || status >= 300) return undefined;
  return failed(`two questions of one name are answered with ${status}`, { status });
}

/** Ratio of tokens, four questions to one: near 1 if the state is billed once, else near 4. */
const PER_QUESTION_RATIO = 2.5;

async function countFinding(lab: Lab): Promise<Finding | undefined> {
  const { deployment } = lab;
  const one = await lab.ask(decisionProbes.read(deployment));
  const four = await lab.ask(decisionProbes.several(deployment));
  if (one.usage === undefined || four.usage === undefined) return undefined;
  const [single, several] = [promptTokensTotal(one.usage), promptTokensTotal(four.usage)];
  const isPerQuestion = several > PER_QUESTION_RATIO * single;
  const isDeclared = isDeclaredPerQuestion(deployment);
  if (single === 0 || isPerQuestion === isDeclared) return undefined;
  const evidence = { input_tokens_of_one: single, input_tokens_of_four: several };
  return isPerQuestion
    ? failed("the state is billed for each question, which the listing does not declare", evidence)
    : warned("the state is billed once; the listing declares it for each question", evidence);
}

function isDeclaredPerQuestion({ decisions }: Deployment): boolean {
  return decisions?.isStatePerQuestion === true;
}
