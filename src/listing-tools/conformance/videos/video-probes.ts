import { asNumber, assert } from "../../../kernel/index.ts";
import { type Probe, type Subject, withMembers } from "../probing/lab.ts";

const PLACES = ["beach", "river", "field", "street"];
const TIMES = ["morning", "evening", "midday"];

function writePrompt({ chance }: Subject, which: 0 | 1): string {
  const place = chance.shuffled("places", PLACES)[which];
  return `Wind over a quiet ${place} in the light of the ${chance.shuffled("times", TIMES)[which]}.`;
}

export const videoProbes = {
  shortest: (subject: Subject): Probe => ofSeconds(subject, readSeconds(subject).min, 0),
  /** A clip of the default length. Its prompt differs from that of `shortest`. */
  usual: (subject: Subject): Probe => ofSeconds(subject, readSeconds(subject).usual, 1),
  /** Orders one second more than the listing's maximum. The gateway would refuse such a request. */
  tooLong: (subject: Subject): Probe => {
    const seconds = readSeconds(subject).max + 1;
    return withSeconds(subject, seconds, `${seconds} seconds, one above the maximum`);
  },
  negativeSeconds: (subject: Subject): Probe => withSeconds(subject, -1, "seconds of -1"),
} as const;

export function videoSeconds({ body }: Probe): number {
  const seconds = asNumber(body["seconds"]);
  assert(seconds !== undefined, "a probe of a video says how long it is");
  return seconds;
}

function ofSeconds(subject: Subject, seconds: number, which: 0 | 1): Probe {
  const isAnother = which === 1 && seconds === readSeconds(subject).min;
  const name = `video of ${seconds} s${isAnother ? ", another" : ""}`;
  return { name, body: { prompt: writePrompt(subject, which), seconds } };
}

function withSeconds(subject: Subject, seconds: number, name: string): Probe {
  const changeBody = (body: Buffer): Buffer => withMembers(body, { seconds });
  return { ...videoProbes.shortest(subject), name, changeBody };
}

function readSeconds({ deployment: { supportedParameters } }: Subject) {
  const descriptor = supportedParameters.get("seconds");
  assert(descriptor?.type === "integer", "a video listing has a descriptor of seconds");
  const { min = 1, max = min, default: usual = min } = descriptor;
  return { min, max, usual };
}
