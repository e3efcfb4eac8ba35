import type { CapabilityDescriptor } from "../../../catalog/index.ts";
import { asNumber } from "../../../kernel/index.ts";
import { type Probe, type Subject, withMembers } from "../probing/lab.ts";

const COLOURS = ["white", "black", "green", "brown"];
const THINGS = ["kettle", "basket", "ladder", "violin", "anchor", "bottle"];

/** The two prompts of a run have equal length and differ. Each run draws them at random. */
function writePrompt({ chance }: Subject, which: 0 | 1): string {
  const colour = chance.shuffled("colours", COLOURS)[which];
  const thing = chance.shuffled("things", THINGS)[which];
  return `A ${colour} ${thing} in the middle of a plain background.`;
}

export const SHAPE_PARAMETERS = ["size", "aspect_ratio"] as const;
export type ShapeParameter = (typeof SHAPE_PARAMETERS)[number];

export interface ShapeProbe {
  readonly parameter: ShapeParameter;
  readonly value: string;
  readonly format: string | undefined;
  readonly isUsual: boolean;
  readonly probe: Probe;
}

export const imageProbes = {
  one: (subject: Subject): Probe => ({
    name: "one image",
    body: { prompt: writePrompt(subject, 0) },
  }),
  two: (subject: Subject): Probe | undefined => {
    const count = subject.deployment.supportedParameters.get("n");
    const most = count?.type === "integer" ? (count.max ?? 2) : 1;
    return most < 2
      ? undefined
      : { name: "two images", body: { prompt: writePrompt(subject, 0), n: 2 } };
  },
  plain: (subject: Subject): readonly Probe[] =>
    [imageProbes.one(subject), imageProbes.two(subject)].filter((probe) => probe !== undefined),
  /** The default shape names no file format; other shapes name the declared formats in turn. */
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
  /** Orders an image for the second prompt, in the default shape if the listing declares one. */
  other: (subject: Subject): Probe =>
    imageProbes.shapes(subject).find(({ isUsual }) => isUsual)?.probe ?? {
      name: "another image",
      body: { prompt: writePrompt(subject, 1) },
    },
  /** Orders -1 images: of too many, a provider that accepts any number would render every one. */
  negativeCount: (subject: Subject): Probe => ({
    ...imageProbes.one(subject),
    name: "n of -1",
    changeBody: (body) => withMembers(body, { n: -1 }),
  }),
} as const;

export function imageCount({ body }: Pick<Probe, "body">): number {
  return asNumber(body["n"]) ?? 1;
}

function listValues(descriptor: CapabilityDescriptor | undefined): readonly string[] {
  return descriptor?.type === "enum" ? descriptor.values : [];
}
