import type { Deployment } from "../../../catalog/index.ts";
import { assert } from "../../../kernel/index.ts";
import { cutInHalf, withMembers } from "../probing/changed-bodies.ts";
import type { Probe } from "../probing/probe.ts";

const PROMPT = "Slow waves on a quiet beach in the morning light.";

export const videoProbes = {
  shortest: (deployment: Deployment): Probe => ofSeconds(secondsOf(deployment).min),
  /** As long as a request that names no length. */
  usual: (deployment: Deployment): Probe => ofSeconds(secondsOf(deployment).usual),
  /** One second more than the listing allows, which the gateway itself would refuse. */
  tooLong: (deployment: Deployment): Probe => {
    const seconds = secondsOf(deployment).max + 1;
    return {
      ...changed(deployment, { seconds }),
      name: `${seconds} seconds, one above the maximum`,
    };
  },
  notJson: (deployment: Deployment): Probe => ({
    ...videoProbes.shortest(deployment),
    name: "invalid JSON",
    changeBody: cutInHalf,
  }),
  unknownModel: (deployment: Deployment): Probe => ({
    ...videoProbes.shortest(deployment),
    name: "unknown model",
    as: "unknown_model",
  }),
  negativeSeconds: (deployment: Deployment): Probe => ({
    ...changed(deployment, { seconds: -1 }),
    name: "seconds of -1",
  }),
} as const;

/** Seconds that a probe asks for. */
export function videoSeconds({ body }: Probe): number {
  const { seconds } = body;
  assert(typeof seconds === "number", "a probe of a video says how long it is");
  return seconds;
}

function ofSeconds(seconds: number): Probe {
  return { name: `video of ${seconds} s`, body: { prompt: PROMPT, seconds } };
}

function changed(
  deployment: Deployment,
  members: Readonly<Record<string, unknown>>,
): Omit<Probe, "name"> {
  return {
    ...videoProbes.shortest(deployment),
    changeBody: (body) => withMembers(body, members),
  };
}

interface Seconds {
  readonly min: number;
  readonly max: number;
  readonly usual: number;
}

function secondsOf({ supportedParameters }: Deployment): Seconds {
  const descriptor = supportedParameters.get("seconds");
  assert(descriptor?.type === "integer", "a video listing has a descriptor of seconds");
  const { min = 1, max = min, default: usual = min } = descriptor;
  return { min, max, usual };
}
