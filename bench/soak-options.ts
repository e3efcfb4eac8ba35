import { parseArgs } from "node:util";

export interface SoakOptions {
  readonly minutes: number;
  /** Of the highest rate that is kept up. */
  readonly percent: number;
  /** Requests per second; undefined: found by calibration. */
  readonly requestsPerSecond: number | undefined;
  readonly sampleSeconds: number;
  /** Writes docs/soak.md, docs/soak.svg and the results of the run. */
  readonly save: boolean;
  readonly build: boolean;
  /** The results as JSON on standard output. */
  readonly json: boolean;
}

export const USAGE: string = `npm run bench:soak -- [options]
  --minutes 30          of load, after the calibration; at least 2
  --percent 70          of the highest rate that the gateway keeps up with
  --rate N              requests per second; no calibration
  --sample-seconds 10   between two samples
  --no-build            soak dist/ as it is
  --save                write docs/soak.md, docs/soak.svg and bench/results/soak
  --json                the results as JSON on standard output`;

const DECLARED = {
  minutes: { type: "string", default: "30" },
  percent: { type: "string", default: "70" },
  rate: { type: "string" },
  "sample-seconds": { type: "string", default: "10" },
  "no-build": { type: "boolean", default: false },
  save: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const SAMPLES_MIN = 4;

/** The options of this run, or undefined when only the usage was asked for. */
export function parseSoakOptions(args: readonly string[]): SoakOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: DECLARED, strict: true });
  if (values.help) return undefined;
  const minutes = positive("minutes", values.minutes, 24 * 60);
  const sampleSeconds = positive("sample-seconds", values["sample-seconds"], 600);
  if ((minutes * 60) / sampleSeconds < SAMPLES_MIN) {
    throw new Error(`--minutes ${minutes}: there would be fewer than ${SAMPLES_MIN} samples`);
  }
  return {
    minutes,
    percent: positive("percent", values.percent, 100),
    requestsPerSecond:
      values.rate === undefined ? undefined : positive("rate", values.rate, 100_000),
    sampleSeconds,
    save: values.save,
    json: values.json,
    build: !values["no-build"],
  };
}

function positive(name: string, text: string, max: number): number {
  const value = Number(text);
  if (value > 0 && value <= max) return value;
  throw new Error(`--${name} must be a number above 0 and at most ${max}, got ${text}`);
}
