import type { Clock } from "../../kernel/index.ts";

export const INSTANCE_STATES = ["starting", "serving", "draining"] as const;

export type InstanceState = (typeof INSTANCE_STATES)[number];

export interface ReadinessOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly isLeaseHeld: () => boolean;
  /**
   * True if the database has lost committed ledger entries, such as after an old backup was
   * restored, until an operator runs `ledger reopen`.
   */
  readonly isStopped?: () => boolean;
  /** Rejects if the database does not answer. Called only while the ledger's lease is lost. */
  readonly pingDatabase: () => Promise<void>;
  readonly waitingSettings?: () => readonly string[];
}

const CHECK_EVERY_MS = 1_000;
/** How long the lease may stay lost while the database answers; renewing it takes less time. */
const FENCED_AFTER_MS = 5_000;

/**
 * Decides whether this instance may take traffic; to answer a probe, it queries no store. A fault
 * that all instances share leaves them ready: a balancer without ready instances could not pass on
 * the refusals that tell clients when to retry. Lost ledger entries make all unready, because an
 * operator must act first. Create it after the catalog and the ledger: its report states that both
 * are there.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #timer: NodeJS.Timeout;
  #state: InstanceState = "starting";
  #isPinging = false;
  /** Monotonic time of the first successful ping after the lease was lost. No ping failed since. */
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

  report() {
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

  /** Makes the instance ready. Call this when all listeners are open. */
  serve(): void {
    if (this.#state === "starting") this.#state = "serving";
  }

  /** Makes the instance unready before it stops, so that balancers send requests elsewhere. */
  drain(): void {
    this.#state = "draining";
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Called by a timer: while the lease is lost, notes whether the database answers. */
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

  get #isStopped(): boolean {
    return this.#options.isStopped?.() === true;
  }

  /** True if the lease is lost although the database answers: only this instance is at fault. */
  get #isFencedAlone(): boolean {
    const { clock, isLeaseHeld } = this.#options;
    if (this.#aloneSinceMs === undefined || isLeaseHeld()) return false;
    const nowMs = clock.monotonicMs();
    return nowMs - this.#aloneSinceMs > FENCED_AFTER_MS && nowMs < this.#aloneUntilMs;
  }
}
