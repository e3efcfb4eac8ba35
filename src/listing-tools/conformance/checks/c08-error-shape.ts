import type { Deployment } from "../../../catalog/index.ts";
import { type Check, forAll, plainProbe } from "./check.ts";
import { chatProbes } from "../chat/chat-probes.ts";
import { decisionProbes } from "../decisions/decision-probes.ts";
import { imageProbes } from "../images/image-probes.ts";
import { failed, type Finding, passed, chooseWorst } from "../report/finding.ts";
import type { Observation } from "../probing/observation.ts";
import { cutInHalf, type Probe, type Subject } from "../probing/lab.ts";
import { parseFields } from "../chat/read-chat.ts";
import { videoProbes } from "../videos/video-probes.ts";

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
    const sure = passed(`${parts.length} bad requests get a 4xx with a JSON body`);
    const worst = chooseWorst(parts, sure);
    return { ...worst, evidence: { ...worst.evidence, answers } };
  }),
};

function badProbes(subject: Subject): readonly Probe[] {
  const { deployment } = subject;
  const isChat = deployment.modality === "text";
  const plain = isChat ? chatProbes.bounded(deployment) : plainProbe(subject);
  const unknown = (probe: Probe, name: string): Probe => ({ ...probe, name, as: "unknown_model" });
  return [
    { ...plain, name: "invalid JSON", changeBody: cutInHalf },
    unknown(plain, "unknown model"),
    ...(isChat ? [unknown(chatProbes.bounded(deployment, true), "unknown model, stream")] : []),
    ...OUT_OF_RANGE[deployment.modality](subject),
  ];
}

type ProbesOf = (subject: Subject) => readonly Probe[];

const OUT_OF_RANGE: Readonly<Record<Deployment["modality"], ProbesOf>> = {
  // Engines differ in the parameters that they accept, so only a declared parameter is tested.
  text: ({ deployment }) =>
    deployment.supportedParameters.get("temperature")?.type === "range"
      ? [chatProbes.tooHot(deployment)]
      : [],
  image: (subject) => [imageProbes.negativeCount(subject)],
  video: (subject) => [videoProbes.negativeSeconds(subject)],
  decisions: ({ deployment }) => [decisionProbes.noQuestion(deployment)],
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
