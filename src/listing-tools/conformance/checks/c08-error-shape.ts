import { type Check, forAll } from "./check.ts";
import { failed, type Finding, passed, chooseWorst } from "../report/finding.ts";
import { badProbes } from "./modality-probes.ts";
import type { Observation } from "../probing/observation.ts";
import { parseFields } from "../chat/read-chat.ts";

/** C8: a request that cannot be served gets a 4xx with a JSON body, in time. */
export const errorShape: Check = {
  id: "C8",
  title: "error shape",
  runs: forAll(async (lab) => {
    const parts: Finding[] = [];
    const answers: string[] = [];
    for (const probe of badProbes(lab)) {
      const seen = await lab.ask(probe);
      parts.push(refusalFinding(seen));
      answers.push(`${seen.probe}: ${seen.status ?? "no answer"}`);
    }
    const worst = chooseWorst(
      parts,
      passed(`${parts.length} bad requests get a 4xx with a JSON body`),
    );
    return { ...worst, evidence: { ...worst.evidence, answers } };
  }),
};

function refusalFinding({ probe, status, timedOut, body }: Observation): Finding {
  const evidence = { probe, status };
  if (status === null) {
    return failed(`${probe}: no answer${timedOut ? " in time" : ""}`, evidence);
  }
  if (status < 400) return failed(`${probe}: answered with ${status}`, evidence);
  if (status >= 500)
    return failed(`${probe}: answered with ${status}, as if the server broke`, evidence);
  if (parseFields(body) === undefined)
    return failed(`${probe}: the error is not a JSON object`, evidence);
  return passed(`${probe}: ${status}`, evidence);
}
