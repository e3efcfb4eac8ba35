import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/core/time.ts";
import type { SoakDeployment } from "./soak-deployment.ts";

/** Something that an operator does, or that happens to one, in the middle of a run. */
export interface SoakEvent {
  readonly title: string;
  /** Since the load began. */
  readonly fromSeconds: number;
  /** When everything was as before again. */
  readonly toSeconds: number;
}

interface Planned {
  readonly title: string;
  /** When it is due, as a share of the run: all of it is over before the half that is judged. */
  readonly due: number;
  readonly run: (deployment: SoakDeployment) => Promise<void>;
}

const PLAN: readonly Planned[] = [
  { title: "Rolling restart", due: 0.1, run: (deployment) => deployment.restartInTurn() },
  { title: "Failover of Redis", due: 0.2, run: (deployment) => deployment.failOverRedis() },
  { title: "Failover of PostgreSQL", due: 0.3, run: (deployment) => deployment.failOverPostgres() },
];
/** Between one and the next, so that refusals can be counted for each. */
const REST_MS = 10_000;

/** Carries them out while the load runs, which is measured from `fromMs`; resolves when the last one is over. */
export async function runEvents(
  deployment: SoakDeployment,
  { minutes, fromMs }: { readonly minutes: number; readonly fromMs: number },
  say: (line: string) => void,
): Promise<readonly SoakEvent[]> {
  const seconds = (): number => (systemClock.monotonicMs() - fromMs) / 1_000;
  const events: SoakEvent[] = [];
  for (const { title, due, run } of PLAN) {
    const dueMs = fromMs + minutes * 60_000 * due;
    const restMs = events.length === 0 ? 0 : REST_MS;
    await sleep(Math.max(restMs, dueMs - systemClock.monotonicMs()));
    const fromSeconds = seconds();
    say(`${title} begins at ${fromSeconds.toFixed(0)} s`);
    await run(deployment);
    const toSeconds = seconds();
    say(`${title} is over at ${toSeconds.toFixed(0)} s`);
    events.push({ title, fromSeconds, toSeconds });
  }
  return events;
}
