import type { Random } from "../simulation/random.ts";

/** One kill or pause of a process of the running system. */
export type Blow =
  /** `kill -9` of a gateway under load; the next one is started at once. */
  | { readonly kind: "gateway"; readonly pauseMs: number }
  /** `kill -9` of the database's first process; it is started again after `downMs`. */
  | { readonly kind: "database"; readonly pauseMs: number; readonly downMs: number }
  /**
   * A gateway is paused for longer than its lease and then resumes: just after the lease has
   * ended, or when the others have taken over what it held.
   */
  | {
      readonly kind: "zombie";
      readonly pauseMs: number;
      readonly wakes: "early" | "late";
      /** Milliseconds from the end of its lease, or from the take-over, until it resumes. */
      readonly wakesAfterMs: number;
    };

export interface PlanOptions {
  /** The number of kills, of gateways and of the database together. */
  readonly kills: number;
  readonly databaseKills: number;
  readonly zombies: number;
}

const PAUSE_MS: readonly [number, number] = [100, 1_200];
const DOWN_MS: readonly [number, number] = [0, 1_500];
const EARLY_MS: readonly [number, number] = [0, 3_000];
const LATE_MS: readonly [number, number] = [0, 1_000];

/** Returns all kills and pauses of a run in random order. */
export function planBlows(options: PlanOptions, dice: Random): readonly Blow[] {
  const { kills, databaseKills, zombies } = options;
  const pause = (): number => dice.between(...PAUSE_MS);
  const blows: Blow[] = [];
  for (let n = 0; n < kills - databaseKills; n++) blows.push(nextKill(dice));
  for (let n = 0; n < databaseKills; n++) {
    blows.push({ kind: "database", pauseMs: pause(), downMs: dice.between(...DOWN_MS) });
  }
  for (let n = 0; n < zombies; n++) {
    const wakes = n % 2 === 0 ? "late" : "early";
    const wakesAfterMs = dice.between(...(wakes === "late" ? LATE_MS : EARLY_MS));
    blows.push({ kind: "zombie", pauseMs: pause(), wakes, wakesAfterMs });
  }
  return dice.shuffled(blows);
}

/** One more kill of a gateway, for a run that lasts longer than its plan. */
export function nextKill(dice: Random): Blow {
  return { kind: "gateway", pauseMs: dice.between(...PAUSE_MS) };
}
