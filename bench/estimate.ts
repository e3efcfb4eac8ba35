import type { BenchOptions } from "./options.ts";
import type { Target } from "./targets/target.ts";
import { warmUpPlan } from "./warm-up.ts";
import type { Work } from "./works.ts";

export interface Minutes {
  readonly least: number;
  readonly most: number;
}

/** What is not measuring: opening, closing and probing, by kind of row. */
const BESIDE_SECONDS: Readonly<Record<Work["kind"], number>> = {
  request: 0.7,
  stream: 2.5,
  latency: 1,
  memory: 20,
};

/** How long a run takes, from its warm-ups at their shortest to their longest. */
export function estimatedMinutes(
  options: BenchOptions,
  targets: readonly Pick<Target, "id" | "pace">[],
): Minutes {
  let least = 0;
  let most = 0;
  for (const target of targets) {
    const works = options.works.filter((work) => work.targets.includes(target.id));
    for (const [at, work] of warmedUp(works).entries()) {
      const { windowMs, windowsMin, windowsMax } = warmUpPlan(options.warmUpSeconds, at === 0);
      const besides = BESIDE_SECONDS[work.kind];
      least += besides + (windowMs * windowsMin) / 1_000;
      most += besides + (windowMs * windowsMax) / 1_000;
    }
    const measured = works.reduce((sum, work) => sum + secondsOf(work, target, options), 0);
    least += measured;
    most += measured;
  }
  return { least: least / 60, most: most / 60 };
}

/** The rows of a target that are warmed up before any row is measured. */
export function warmedUp(works: readonly Work[]): readonly Work[] {
  return works.filter(({ kind }) => kind === "request" || kind === "stream");
}

function secondsOf(
  { kind }: Work,
  { pace }: Pick<Target, "pace">,
  { rounds, seconds }: BenchOptions,
): number {
  if (kind === "memory") return BESIDE_SECONDS.memory;
  const windows = kind === "request" ? (pace?.windows ?? 1) : 1;
  return rounds * (seconds * windows + BESIDE_SECONDS[kind]);
}
