import type { MicroUsd } from "../../kernel/index.ts";
import type { KnownRuns } from "./watch-schedule.ts";

/** The database's record of the runs of an installation. */
export interface WatchState {
  /** By the clock of the database, as every other time here. */
  readonly nowMs: number;
  /** By the key of the listing. */
  readonly known: ReadonlyMap<string, KnownRuns>;
  /** The cost of the watched runs of the last interval; those without an end count with their budgets. */
  readonly spentMicroUsd: MicroUsd;
}

/**
 * - `recorded`: its verdict is stored;
 * - `unrecorded`: it has none;
 * - `ended`: by the operator, and the listing is as due as it was.
 */
export type WatchedRunOutcome = "recorded" | "unrecorded" | "ended";
