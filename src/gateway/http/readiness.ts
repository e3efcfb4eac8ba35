import type { Clock } from "../../kernel/index.ts";

export type InstanceState = "starting" | "serving" | "draining";

export const INSTANCE_STATES: readonly InstanceState[] = ["starting", "serving", "draining"];

/** The body of `/readyz?verbose`. */
export interface ReadinessReport {
  readonly ready: boolean;
  readonly state: InstanceState;
  /** Settings that were changed since the start and wait for a restart. */
  readonly waiting_settings: readonly string[];
  readonly checks: {
    readonly listening: boolean;
    readonly catalog: boolean;
    readonly joined: boolean;
    readonly not_draining: boolean;
    readonly not_fenced: boolean;
    readonly books_are_whole: boolean;
  };
}

export interface ReadinessOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** True while this instance holds its lease of the ledger. */
  readonly isLeaseHeld: () => boolean;
  /** True if the ledger was rolled back, so that no instance takes traffic until it is reopened. */
  readonly isStopped?: () => boolean;
  /** Rejects if the database does not answer. Called only while the lease is lost. */
  readonly pingDatabase: () => Promise<void>;
  /** Settings that wait for a restart, by name. Default: none. */
  readonly waitingSettings?: () => readonly string[];
}

const CHECK_EVERY_MS = 1_000;
/** Longer than it takes to renew a lease after an outage. */
const FENCED_AFTER_MS = 5_000;

/**
 * Decides whether this instance may take traffic; a probe queries no store. A fault that all
 * instances share makes none unready, because a balancer without instances would lose the answers
 * that say when to retry. A rolled-back ledger does, because it waits for an operator. Created once
 * the catalog is built and the ledger was joined.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #timer: NodeJS.Timeout;
  #state: InstanceState = "starting";
  #isPinging = false;
  /** The time since which the database responds although the lease is lost; undefined otherwise. */
  #aloneSinceMs: number | undefined;
  #aloneUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.check(), CHECK_EVERY_MS).unref();
  }

  get state(): InstanceState {
    return this.#state;
  }

  get isDraining(): boolean {
    return this.#state === "draining";
  }

  get isReady(): boolean {
    return this.#state === "serving" && !this.#isFencedAlone && !this.#isStopped;
  }

  report(): ReadinessReport {
    return {
      ready: this.isReady,
      state: this.#state,
      waiting_settings: this.#options.waitingSettings?.() ?? [],
      checks: {
        listening: this.#state !== "starting",
        catalog: true,
        joined: true,
        not_draining: !this.isDraining,
        not_fenced: !this.#isFencedAlone,
        books_are_whole: !this.#isStopped,
      },
    };
  }

  /** Call this when all listeners are open. */
  serve(): void {
    if (this.#state === "starting") this.#state = "serving";
  }

  /** Call this before the instance stops, so that balancers send their requests elsewhere. */
  drain(): void {
    this.#state = "draining";
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Compares the lease with the database; called by a timer. */
  async check(): Promise<void> {
    const { clock, isLeaseHeld, pingDatabase } = this.#options;
    if (isLeaseHeld()) this.#aloneSinceMs = undefined;
    if (isLeaseHeld() || this.#isPinging) return;
    this.#isPinging = true;
    try {
      await pingDatabase();
      const nowMs = clock.monotonicMs();
      this.#aloneSinceMs ??= nowMs;
      this.#aloneUntilMs = nowMs + 3 * CHECK_EVERY_MS;
    } catch {
      this.#aloneSinceMs = undefined;
    } finally {
      this.#isPinging = false;
    }
  }

  /** True while an operator must decide, which is no state to wait out. */
  get #isStopped(): boolean {
    return this.#options.isStopped?.() === true;
  }

  /** True if the database answers, but this instance has lost its lease for too long. */
  get #isFencedAlone(): boolean {
    const { clock, isLeaseHeld } = this.#options;
    if (this.#aloneSinceMs === undefined || isLeaseHeld()) return false;
    const nowMs = clock.monotonicMs();
    return nowMs - this.#aloneSinceMs > FENCED_AFTER_MS && nowMs < this.#aloneUntilMs;
  }
}
