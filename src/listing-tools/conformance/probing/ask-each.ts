import type { Finding } from "../report/finding.ts";
import type { Lab } from "./lab.ts";
import { type Observation, ProbeNotSent } from "./observation.ts";
import type { Probe } from "./probe.ts";

export interface Judged<J> {
  readonly parts: readonly J[];
  /** Why the remaining probes were not sent; undefined if all were sent. */
  readonly unsent: ProbeNotSent | undefined;
}

/**
 * Sends and judges one probe after another. If one cannot be sent, for example because the budget
 * is used up, returns the results so far.
 */
export async function askEach<P extends Probe, J = Finding | undefined>(
  lab: Lab,
  probes: readonly P[],
  judge: (seen: Observation, probe: P) => J,
): Promise<Judged<J>> {
  const parts: J[] = [];
  for (const probe of probes) {
    try {
      parts.push(judge(await lab.ask(probe), probe));
    } catch (fault) {
      if (!(fault instanceof ProbeNotSent)) throw fault;
      return { parts, unsent: fault };
    }
  }
  return { parts, unsent: undefined };
}
