import type { Deployment } from "../../../catalog/index.ts";
import { outputTokensTotal, promptTokensTotal } from "../../../kernel/index.ts";
import { MEASURED_TEXT } from "../chat/chat-probes.ts";
import { answersFlaw, answersIn, envelopeFlaw, otherMembers } from "./decision-flaws.ts";
import { type DecisionProbe, decisionProbes, STATE_COPIES } from "./decision-probes.ts";
import { failed, type Finding, passed, warned, chooseWorst } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import {
  describeFailure,
  isServed,
  type Observation,
  toUnmeasuredFinding,
} from "../probing/observation.ts";
import { jsonFlaw, parseFields } from "../chat/read-chat.ts";
import { lengthFinding } from "../chat/reference-tokens.ts";

/** C2 of decisions: exactly one answer for each question, with valid probabilities. */
export async function decisionShape(lab: Lab): Promise<Finding> {
  const { deployment } = lab;
  const parts: (Finding | undefined)[] = [];
  for (const probe of [decisionProbes.one(deployment), decisionProbes.several(deployment)]) {
    parts.push(shapeFinding(deployment, probe, await lab.ask(probe)));
  }
  return chooseWorst(parts, passed("an answer to each question, with probabilities that sum to 1"));
}

function shapeFinding(
  { decisions }: Deployment,
  { questions }: DecisionProbe,
  seen: Observation,
): Finding | undefined {
  const { probe, status } = seen;
  const evidence = { probe, status };
  const json = parseFields(seen.body) ?? {};
  const form = jsonFlaw(seen) ?? envelopeFlaw(json, decisions?.envelope);
  if (form !== undefined) return failed(form, evidence);
  const flaw = answersFlaw(answersIn(seen.body, decisions), questions);
  if (flaw !== undefined) return failed(`${probe}: ${flaw}`, evidence);
  if (!isServed(seen)) {
    const why = describeFailure(seen);
    return failed(`${probe}: the gateway cannot use the answer: ${why}`, evidence);
  }
  const others = otherMembers(json, decisions?.envelope);
  return others.length === 0
    ? undefined
    : warned(`the envelope has further members: ${others.join(", ")}`, evidence);
}

/** C4 of decisions: tokens add up, are equal for equal requests, and fit the state's length. */
export async function decisionUsage(lab: Lab): Promise<Finding> {
  const { deployment } = lab;
  const once = await lab.ask(decisionProbes.one(deployment));
  const long = await lab.ask(decisionProbes.read(deployment));
  const again = await lab.ask(decisionProbes.read(deployment, 2));
  const refused = [once, long, again].find((seen) => !isServed(seen));
  if (refused !== undefined) return toUnmeasuredFinding(refused);
  const parts = [once, long, again].map(arithmeticFinding);
  const [a, b, c] = [once, long, again].map(inputTokens);
  if (a === undefined || b === undefined || c === undefined) {
    return chooseWorst(parts, failed("an answer reports no usage"));
  }
  const sure = passed("usage adds up, and agrees with itself and with the state", { input: a });
  // The tokens of question and template cancel out in the difference of a long and a short state.
  const perCopy = (b - a) / (STATE_COPIES - 1);
  const measured = { what: "state", text: MEASURED_TEXT } as const;
  // C12 sent repeats of `once`, which must be billed the same.
  const name = `${once.probe}, repeat`;
  const repeated = lab.seen().filter(({ probe }) => probe.startsWith(name));
  const more = [
    repeatFinding(b, c),
    ...repeated.map((each) => repeatFinding(a, inputTokens(each) ?? a)),
    await lengthFinding(deployment, measured, perCopy),
    besideFinding(a - perCopy),
    ...lab.seen().map(outputFinding),
  ];
  return chooseWorst([...parts, ...more], sure);
}

function inputTokens({ usage }: Observation): number | undefined {
  return usage === undefined ? undefined : promptTokensTotal(usage);
}

function arithmeticFinding({ usageFlaw, probe }: Observation): Finding | undefined {
  return usageFlaw === undefined ? undefined : failed(usageFlaw, { probe });
}

function repeatFinding(first: number, second: number): Finding | undefined {
  if (first === second) return undefined;
  return failed("the same request is billed differently when it is repeated", {
    input_tokens: first,
    input_tokens_repeated: second,
  });
}

/** Maximum tokens of the question and of the template around question and state, in total. */
const BESIDE_TOKENS_MAX = 250;

function besideFinding(beside: number): Finding | undefined {
  if (beside <= BESIDE_TOKENS_MAX) return undefined;
  return failed("a request is billed for tokens that it does not have", {
    tokens_beside_the_state: Math.round(beside),
    allowed: BESIDE_TOKENS_MAX,
  });
}

function outputFinding(seen: Observation): Finding | undefined {
  const { usage, body, probe } = seen;
  if (!seen.isPlain || !isServed(seen) || usage === undefined) return undefined;
  const tokens = outputTokensTotal(usage);
  if (tokens <= body.length) return undefined;
  const evidence = { probe, output_tokens: tokens, bytes: body.length };
  return failed("more output tokens are billed than the answer has bytes", evidence);
}
