import type { MicroUsd } from "../core/index.ts";
import type { ListingName } from "./listing-name.ts";
import type { KnownRuns } from "./watch-schedule.ts";

/** What the database knows of the runs of an installation. */
export interface WatchState {
  /** By the clock of the database, as every other time here. */
  readonly nowMs: number;
  /** By the key of the listing. */
  readonly known: ReadonlyMap<string, KnownRuns>;
  /** Of the watched runs of the last interval; those without an end count with their budgets. */
  readonly spentMicroUsd: MicroUsd;
}

/**
 * - `recorded`: its verdict is stored;
 * - `unrecorded`: it has none;
 * - `ended`: by the operator, and the listing is as due as it was.
 */
export type WatchedRunOutcome = "recorded" | "unrecorded" | "ended";

/** Where the watches of all processes agree. */
export interface WatchStore {
  /** Undefined: another process runs a listing at the moment. */
  open(): Promise<WatchSession | undefined>;
}

/** The only one of all processes, until it is closed or its process dies. */
export interface WatchSession {
  state(intervalMs: number): Promise<WatchState>;
  /** Notes the run before anything of it is sent. */
  begin(listing: ListingName, budgetMicroUsd: MicroUsd): Promise<bigint>;
  end(
    runId: bigint,
    run: { readonly spentMicroUsd: MicroUsd; readonly outcome: WatchedRunOutcome },
  ): Promise<void>;
  close(): Promise<void>;
}
