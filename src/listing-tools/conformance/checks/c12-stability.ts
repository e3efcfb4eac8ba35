import { shortFact } from "../chat/fact-probes.ts";
import { type Check, plainProbe } from "./check.ts";
import { failed, type Finding, passed, warned } from "../report/finding.ts";
import type { Lab, Probe } from "../probing/lab.ts";
import { type Observation, ProbeNotSent, describeFailure } from "../probing/observation.ts";

const REPEATS = 10;
const AT_ONCE = 2;
/** Must be less than the gateway's own time limit for the first content of a stream. */
const FIRST_BYTE_MS_MAX = 20_000;

/** C12: ten requests, two at a time, get complete answers that begin in time. */
export const stability: Check = {
  id: "C12",
  title: "latency and stability",
  otherwise: "repeating it would cost too much",
  runs: { text: answersInTime, decisions: answersInTime },
};

async function answersInTime(lab: Lab): Promise<Finding> {
  const answers = await askRepeatedly(lab);
  const broken = answers.filter(isBroken);
  const times = answers.flatMap(({ firstByteMs }) => (firstByteMs === null ? [] : [firstByteMs]));
  const sorted = times.toSorted((a, b) => a - b);
  const evidence = {
    answers: answers.length,
    broken: broken.length,
    first_byte_p50_ms: quantile(sorted, 0.5),
    first_byte_p95_ms: quantile(sorted, 0.95),
  };
  const [first] = broken;
  if (first !== undefined) {
    const message = `${broken.length} of ${answers.length} answers broke: ${howItBroke(first)}`;
    return failed(message, evidence);
  }
  if (evidence.first_byte_p95_ms > FIRST_BYTE_MS_MAX) {
    return failed("the first byte comes after more than 20 s (p95)", evidence);
  }
  const retried = answers.filter(({ tries }) => tries > 1).length;
  const text = `first byte after ${evidence.first_byte_p50_ms} ms (p50), ${evidence.first_byte_p95_ms} ms (p95)`;
  return retried > REPEATS / 2
    ? warned(`${text}; ${retried} of ${answers.length} requests had to be sent again`, evidence)
    : passed(text, evidence);
}

/** True if no usable answer came. Other checks judge answers that are complete but wrong. */
function isBroken({ status, wasReset, timedOut }: Observation): boolean {
  return wasReset || timedOut || status === null || status === 429 || status >= 500;
}

function howItBroke(answer: Observation): string {
  if (answer.timedOut) return "it did not end in time";
  if (answer.wasReset) return "the connection was closed in the answer";
  return describeFailure(answer);
}

/** Rejects if a probe cannot be sent, unless a broken answer has already failed the check. */
async function askRepeatedly(lab: Lab): Promise<readonly Observation[]> {
  const answers: Observation[] = [];
  for (let n = 0; n < REPEATS; n += AT_ONCE) {
    const pair = Array.from({ length: AT_ONCE }, (_, i) => lab.ask(repeated(lab, n + i + 1)));
    const ended = await Promise.allSettled(pair);
    answers.push(...ended.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])));
    const fault = ended.find((each) => each.status === "rejected")?.reason as unknown;
    if (fault === undefined) continue;
    if (fault instanceof ProbeNotSent && answers.some(isBroken)) return answers;
    throw fault;
  }
  return answers;
}

function repeated(lab: Lab, number: number): Probe {
  const { deployment } = lab;
  if (deployment.modality === "text") return shortFact(lab, number);
  const probe = plainProbe(lab);
  return { ...probe, name: `${probe.name}, repeat ${number}` };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
