import { type Check, forAll, plainProbe } from "./check.ts";
import {
  type Evidence,
  failed,
  type Finding,
  passed,
  warned,
  chooseWorst,
} from "../report/finding.ts";
import type { Lab, Probe } from "../probing/lab.ts";
import { chatProbes } from "../chat/chat-probes.ts";
import type { Observation } from "../probing/observation.ts";

const FIRST_BYTE_MS_MAX = 10_000;

/** C1: the endpoint answers in time, refuses a wrong key, and does not redirect. */
export const reachability: Check = {
  id: "C1",
  title: "reachability and auth",
  runs: forAll(async (lab) => {
    const reached = reachedFinding(await lab.ask(plainProbe(lab)));
    if (reached.status === "fail") return reached;
    const { deployment } = lab;
    const probes = [
      plainProbe(lab),
      ...(deployment.modality === "text" ? [chatProbes.shortStream(deployment)] : []),
    ];
    const keyed = deployment.apiKeyEnv === undefined ? [] : probes;
    const parts: Finding[] = [];
    for (const probe of keyed) parts.push(await wrongKeyFinding(lab, probe));
    return chooseWorst(parts, reached);
  }),
};

function reachedFinding({ status, firstByteMs, timedOut, failure }: Observation): Finding {
  if (status === null || firstByteMs === null) {
    const why = timedOut ? "it sent nothing in time" : (failure?.refusal.message ?? "no answer");
    return unreachable(`the endpoint did not answer: ${why}`);
  }
  const evidence = { status, first_byte_ms: firstByteMs };
  if (status >= 300 && status < 400) {
    const message = `the endpoint redirects (${status}): list the address that it leads to`;
    return unreachable(message, evidence);
  }
  if (status === 401 || status === 403) {
    return unreachable(`the listing's own key is refused (${status})`, evidence);
  }
  if (status >= 500) return unreachable(`a usual request is answered with ${status}`, evidence);
  if (firstByteMs > FIRST_BYTE_MS_MAX) {
    return failed(`the first byte came after ${firstByteMs} ms; 10 s are allowed`, evidence);
  }
  return passed(`answered with ${status} after ${firstByteMs} ms`, evidence);
}

function unreachable(message: string, evidence?: Evidence): Finding {
  return { ...failed(message, evidence), isUnreachable: true };
}

async function wrongKeyFinding(lab: Lab, probe: Probe): Promise<Finding> {
  const name = `wrong key, ${probe.name}`;
  const { status, timedOut } = await lab.ask({ ...probe, name, as: "wrong_key" });
  const evidence = { wrong_key_status: status };
  if (status === 401 || status === 403) return passed(`a wrong key gets ${status}`, evidence);
  if (status === null) {
    return failed(`a wrong key gets no answer${timedOut ? " in time" : ""}`, evidence);
  }
  const judge = status >= 400 && status < 500 ? warned : failed;
  return judge(`a wrong key gets ${status} instead of 401 or 403`, evidence);
}
