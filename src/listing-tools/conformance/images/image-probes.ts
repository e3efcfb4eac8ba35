import type { CapabilityDescriptor } from "../../../catalog/index.ts";
import type { Subject } from "../probing/lab.ts";
import { cutInHalf, type Probe, withMembers } from "../probing/probe.ts";

const COLOURS = ["white", "black", "green", "brown"];
const THINGS = ["kettle", "basket", "ladder", "violin", "anchor", "bottle"];

/** One of two prompts of equal length, which are random in each run. */
function writePrompt({ chance }: Subject, which: 0 | 1): string {
  const colour = chance.shuffled("colours", COLOURS)[which];
  const thing = chance.shuffled("things", THINGS)[which];
  return `A ${colour} ${thing} in the middle of a plain background.`;
}

/** The parameters for the shape of an image. */
export const SHAPE_PARAMETERS = ["size", "aspect_ratio"] as const;
export type ShapeParameter = (typeof SHAPE_PARAMETERS)[number];

/** A probe for one image of a declared shape. */
export interface ShapeProbe {
  readonly parameter: ShapeParameter;
  readonly value: string;
  /** The format of the file; undefined if none is requested. */
  readonly format: string | undefined;
  readonly isUsual: boolean;
  readonly probe: Probe;
}

export const imageProbes = {
  one: (subject: Subject): Probe => ({
    name: "one image",
    body: { prompt: writePrompt(subject, 0) },
  }),
  /** Undefined if the listing makes one image for each request. */
  two: (subject: Subject): Probe | undefined => {
    const count = subject.deployment.supportedParameters.get("n");
    const most = count?.type === "integer" ? (count.max ?? 2) : 1;
    return most < 2
      ? undefined
      : { name: "two images", body: { prompt: writePrompt(subject, 0), n: 2 } };
  },
  /**
   * Every value that the listing declares, with the defaults of everything else but the format of
   * the file, which is another one each time.
   */
  shapes: (subject: Subject): readonly ShapeProbe[] => {
    const { supportedParameters } = subject.deployment;
    const prompt = writePrompt(subject, 1);
    const formats = listValues(supportedParameters.get("output_format"));
    return SHAPE_PARAMETERS.flatMap((parameter) => {
      const descriptor = supportedParameters.get(parameter);
      const usual = descriptor?.type === "enum" ? descriptor.default : undefined;
      return listValues(descriptor).map((value, at) => {
        const isUsual = value === usual;
        const format = isUsual ? undefined : formats[at % formats.length];
        const body = { prompt, [parameter]: value, ...(format && { output_format: format }) };
        return {
          parameter,
          value,
          format,
          isUsual,
          probe: { name: `${parameter} ${value}`, body },
        };
      });
    });
  },
  /** An image for another prompt, with a usual shape if there is one. */
  other: (subject: Subject): Probe =>
    imageProbes.shapes(subject).find(({ isUsual }) => isUsual)?.probe ?? {
      name: "another image",
      body: { prompt: writePrompt(subject, 1) },
    },
  notJson: (subject: Subject): Probe => ({
    ...imageProbes.one(subject),
    name: "invalid JSON",
    changeBody: cutInHalf,
  }),
  unknownModel: (subject: Subject): Probe => ({
    ...imageProbes.one(subject),
    name: "unknown model",
    as: "unknown_model",
  }),
  /** A negative number, because a host that accepts a large one would render all images. */
  negativeCount: (subject: Subject): Probe => ({
    ...imageProbes.one(subject),
    name: "n of -1",
    changeBody: (body) => withMembers(body, { n: -1 }),
  }),
} as const;

/** The number of images that a probe asks for. */
export function imageCount({ body }: Probe): number {
  return typeof body["n"] === "number" ? body["n"] : 1;
}

function listValues(descriptor: CapabilityDescriptor | undefined): readonly string[] {
  return descriptor?.type === "enum" ? descriptor.values : [];
}
