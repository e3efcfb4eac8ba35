import type { CapabilityDescriptor, Deployment } from "../../../catalog/index.ts";
import { cutInHalf, withMembers } from "../probing/changed-bodies.ts";
import type { Probe } from "../probing/probe.ts";

const PROMPT = "A red circle in the middle of a plain white background.";

/** The parameters that say which shape an image has. */
export const SHAPE_PARAMETERS = ["size", "aspect_ratio"] as const;
export type ShapeParameter = (typeof SHAPE_PARAMETERS)[number];

/** One image of a declared shape. */
export interface ShapeProbe {
  readonly parameter: ShapeParameter;
  readonly value: string;
  readonly probe: Probe;
}

export const imageProbes = {
  one: (): Probe => ({ name: "one image", body: { prompt: PROMPT } }),
  /** Undefined: the listing makes one image for each request. */
  two: ({ supportedParameters }: Deployment): Probe | undefined => {
    const count = supportedParameters.get("n");
    const most = count?.type === "integer" ? (count.max ?? 2) : 1;
    return most < 2 ? undefined : { name: "two images", body: { prompt: PROMPT, n: 2 } };
  },
  /** Every value that the listing declares, with the defaults of everything else. */
  shapes: ({ supportedParameters }: Deployment): readonly ShapeProbe[] =>
    SHAPE_PARAMETERS.flatMap((parameter) =>
      valuesOf(supportedParameters.get(parameter)).map((value) => ({
        parameter,
        value,
        probe: { name: `${parameter} ${value}`, body: { prompt: PROMPT, [parameter]: value } },
      })),
    ),
  notJson: (): Probe => ({
    ...imageProbes.one(),
    name: "invalid JSON",
    changeBody: cutInHalf,
  }),
  unknownModel: (): Probe => ({ ...imageProbes.one(), name: "unknown model", as: "unknown_model" }),
  /** Not too many: a host that takes the number would make them all. */
  negativeCount: (): Probe => ({
    ...imageProbes.one(),
    name: "n of -1",
    changeBody: (body) => withMembers(body, { n: -1 }),
  }),
} as const;

/** Images that a probe asks for. */
export function imageCount({ body }: Probe): number {
  return typeof body["n"] === "number" ? body["n"] : 1;
}

function valuesOf(descriptor: CapabilityDescriptor | undefined): readonly string[] {
  return descriptor?.type === "enum" ? descriptor.values : [];
}
