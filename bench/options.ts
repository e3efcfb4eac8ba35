import { parseArgs } from "node:util";
import { WORKS, type Work } from "./works.ts";
import { TARGET_IDS, type TargetId } from "./targets/target.ts";

export interface BenchOptions {
  readonly works: readonly Work[];
  readonly targets: ReadonlySet<TargetId>;
  readonly rounds: number;
  /** Length of one measured window. */
  readonly seconds: number;
  readonly connections: number;
  readonly streams: number;
  readonly memoryStreams: number;
  readonly requestsPerSecond: number;
  /** The longest a target runs before its first row is measured; later rows: an eighth of it. */
  readonly warmUpSeconds: number;
  /** The gateway writes its CPU profile here when it ends; its figures are then not comparable. */
  readonly profileFolder: string | undefined;
  readonly build: boolean;
  readonly json: boolean;
  readonly save: boolean;
  /** After this the bench stops everything and fails. */
  readonly timeLimitMinutes: number;
}

const CHOICES: readonly TargetId[] = TARGET_IDS.filter((id) => id !== "direct");

export const USAGE: string = `npm run bench -- [options]
  --only A,B                rows whose id starts so: ${WORKS.map((work) => work.id).join(", ")}
  --targets A,B             of ${CHOICES.join(", ")}
                            (latency adds direct)
  --rounds 3                interleaved rounds; minimum and median are printed
  --seconds 1               length of one measured window
  --connections 64          kept-alive connections of the request rows
  --streams 1000            open streams of the stream rows, one event each 100 ms
  --memory-streams 2000     open streams of the memory row
  --rate 300                requests per second of the latency row
  --warm-up 40              seconds at most that a target runs before its first row is
                            measured, as long as it gets cheaper; an eighth for later rows
  --time-limit-minutes 40   stop and fail after this
  --profile FOLDER          the gateway writes a CPU profile there (its figures grow)
  --no-build                measure dist/ as it is
  --no-save                 write no file under bench/results/
  --json                    print the saved document in place of the table`;

const DECLARED = {
  only: { type: "string" },
  targets: { type: "string" },
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "1" },
  connections: { type: "string", default: "64" },
  streams: { type: "string", default: "1000" },
  "memory-streams": { type: "string", default: "2000" },
  rate: { type: "string", default: "300" },
  "warm-up": { type: "string", default: "40" },
  "time-limit-minutes": { type: "string", default: "40" },
  profile: { type: "string" },
  "no-build": { type: "boolean", default: false },
  "no-save": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** The options of this run, or undefined when only the usage was asked for. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: DECLARED, strict: true });
  if (values.help) return undefined;
  return {
    works: pickWorks(values.only),
    targets: pickTargets(values.targets),
    rounds: positive("rounds", values.rounds, 100),
    seconds: positive("seconds", values.seconds, 300),
    connections: positive("connections", values.connections, 1_000),
    streams: positive("streams", values.streams, 5_000),
    memoryStreams: positive("memory-streams", values["memory-streams"], 5_000),
    requestsPerSecond: positive("rate", values.rate, 10_000),
    warmUpSeconds: positive("warm-up", values["warm-up"], 300),
    timeLimitMinutes: positive("time-limit-minutes", values["time-limit-minutes"], 240),
    profileFolder: values.profile,
    build: !values["no-build"],
    save: !values["no-save"],
    json: values.json,
  };
}

function pickWorks(only: string | undefined): readonly Work[] {
  const starts = only?.split(",");
  const picked = WORKS.filter((work) => starts?.some((start) => work.id.startsWith(start)) ?? true);
  if (picked.length === 0) throw new Error(`--only ${only} names no row\n${USAGE}`);
  return picked;
}

function pickTargets(wanted: string | undefined): ReadonlySet<TargetId> {
  const names = wanted?.split(",") ?? CHOICES;
  const unknown = names.find((name) => !CHOICES.some((id) => id === name));
  if (unknown !== undefined)
    throw new Error(`--targets: ${unknown} is none of ${CHOICES.join(", ")}`);
  return new Set([...CHOICES.filter((id) => names.includes(id)), "direct"]);
}

function positive(name: string, text: string, max: number): number {
  const value = Number(text);
  if (value > 0 && value <= max) return value;
  throw new Error(`--${name} must be a number above 0 and at most ${max}, got ${text}`);
}
