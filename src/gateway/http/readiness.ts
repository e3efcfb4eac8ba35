import type { Clock } from "../../kernel/index.ts";

export type InstanceState = "starting" | "serving" | "draining";

export const INSTANCE_STATES: readonly InstanceState[] = ["starting", "serving", "draining"];

/** The answer of `/readyz?verbose`. */
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
  /** Does this instance hold its lease of the ledger? */
  readonly isLeaseHeld: () => boolean;
  /** Did the books go back, so that no instance takes traffic before they are reopened? */
  readonly isStopped?: () => boolean;
  /** Rejects when the database does not answer. Asked only while the lease is lost. */
  readonly pingDatabase: () => Promise<void>;
  /** Settings that wait for a restart, by name. Default: none. */
  readonly waitingSettings?: () => readonly string[];
}

const CHECK_EVERY_MS = 1_000;
/** A lease that was lost to an outage is renewed sooner than that. */
const FENCED_AFTER_MS = 5_000;

/**
 * May this instance take traffic? No store is asked on a probe. A fault that all instances share
 * makes none unready: a balancer without any instance would lose the answers that say when to come
 * back. Books that went back do, because they wait for a person. Made when the catalog is built and
 * the ledger has been joined.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #timer: NodeJS.Timeout;
  #state: InstanceState = "starting";
  #isPinging = false;
  /** Since when the database answers while the lease is lost; undefined: it is not so. */
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

  /** All listeners are open. */
  serve(): void {
    if (this.#state === "starting") this.#state = "serving";
  }

  /** This instance is about to stop: balancers send their requests elsewhere. */
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

  /** A person decides when it ends: a balancer need not wait for it. */
  get #isStopped(): boolean {
    return this.#options.isStopped?.() === true;
  }

  /** The database answers other instances, and this one has still lost its lease. */
  get #isFencedAlone(): boolean {
    const { clock, isLeaseHeld } = this.#options;
    if (this.#aloneSinceMs === undefined || isLeaseHeld()) return false;
    const nowMs = clock.monotonicMs();
    return nowMs - this.#aloneSinceMs > FENCED_AFTER_MS && nowMs < this.#aloneUntilMs;
  }
}
