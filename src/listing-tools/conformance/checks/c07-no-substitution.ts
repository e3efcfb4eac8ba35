import type { Deployment } from "../../../catalog/index.ts";
import { chatProbes } from "../chat/chat-probes.ts";
import { type Check, forAll, plainProbe } from "./check.ts";
import { readServedModel } from "../../../kernel/index.ts";
import { failed, type Finding, passed, skipped, warned, chooseWorst } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";

/** C7: no answer of the run names another model than the listed one. */
export const noSubstitution: Check = {
  id: "C7",
  title: "no silent substitution",
  runs: forAll(async (lab) => {
    const { deployment } = lab;
    await lab.ask(plainProbe(lab));
    if (deployment.modality === "text") await lab.ask(chatProbes.shortStream(deployment));
    const answers = lab.seen().filter((seen) => seen.isPlain && isServed(seen));
    if (answers.length === 0) return skipped("there was no answer to judge");
    const parts = [
      ...answers.map((seen) => namesFinding(lab, seen)),
      ...lab.endedJobs().map(({ model }) => jobFinding(lab, model)),
    ];
    const named = answers.filter((seen) => reportedNames(deployment, seen).length > 0).length;
    const jobsNamed = lab.endedJobs().filter(({ model }) => model !== undefined).length;
    const expected = { expected: deployment.upstreamModelId };
    return chooseWorst(
      parts,
      named + jobsNamed === 0
        ? skipped("its answers name no model, and need not")
        : passed(`${named + jobsNamed} answers name the listed model`, expected),
    );
  }),
};

/** Images and videos need not name their model, and GLiNER answers have no field for it. */
function mayBeNameless({ modality, decisions }: Deployment): boolean {
  if (modality === "image" || modality === "video") return true;
  return decisions?.wire === "gliner";
}

function namesFinding({ deployment }: Lab, seen: Observation): Finding | undefined {
  const { upstreamModelId } = deployment;
  const names = reportedNames(deployment, seen);
  if (names.length === 0) {
    if (mayBeNameless(deployment)) return undefined;
    return failed("an answer names no model", { sent: upstreamModelId, probe: seen.probe });
  }
  const other = names.find((name) => readServedModel(deployment, name)?.isSubstituted !== false);
  if (other !== undefined) {
    const reported = readServedModel(deployment, other)?.name ?? "";
    const evidence = { sent: upstreamModelId, reported, probe: seen.probe };
    return failed("an answer names another model", evidence);
  }
  const isVariant = names.some((name) => name === upstreamModelId.replace(/:[^:/]*$/, ""));
  return isVariant && upstreamModelId.includes(":")
    ? warned("the model is named without its variant", { sent: upstreamModelId })
    : undefined;
}

function jobFinding({ deployment }: Lab, reported: string | undefined): Finding | undefined {
  const served = readServedModel(deployment, reported);
  if (served?.isSubstituted !== true) return undefined;
  const evidence = { sent: deployment.upstreamModelId, reported: served.name };
  return failed("the record of a video names another model", evidence);
}

/** All model names in the answer: the events of a stream may name several. */
function reportedNames(deployment: Lab["deployment"], seen: Observation): readonly string[] {
  const answer = seen.wire === undefined ? undefined : readChat(deployment, seen);
  if (answer !== undefined) return [...new Set(answer.models)];
  return seen.servedModel === undefined ? [] : [seen.servedModel.name];
}
