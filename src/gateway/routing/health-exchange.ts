import type { Clock } from "../../kernel/index.ts";
import type { CooldownNotice, SharedHealth } from "./shared-health.ts";

/** Receives the cooldowns of other instances. */
export interface CooldownListener {
  /** `id` cools down for `forMs` from `nowMs` on, which is monotonic. */
  learn(id: string, forMs: number, nowMs: number): void;
}

export interface HealthExchangeOptions {
  /** Undefined: this process is alone; nothing is sent and nothing received. */
  readonly shared: SharedHealth | undefined;
  readonly clock: Clock;
  /** Milliseconds from one poll of the others' notices to the next. Default 1,000. */
  readonly everyMs?: number;
  /** Milliseconds after which a poll without an answer is abandoned. Default 5,000. */
  readonly answerWithinMs?: number;
}

const EVERY_MS = 1_000;
const ANSWER_WITHIN_MS = 5_000;

/** Shares this instance's cooldowns with the others, and polls theirs once a second. */
export class HealthExchange {
  readonly #shared: SharedHealth | undefined;
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #answerWithinMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** The poll whose answer is awaited; undefined: none is. */
  #poll: { readonly askedMs: number } | undefined;

  constructor(options: HealthExchangeOptions) {
    this.#shared = options.shared;
    this.#clock = options.clock;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.#answerWithinMs = options.answerWithinMs ?? ANSWER_WITHIN_MS;
  }

  publish(notice: CooldownNotice): void {
    this.#shared?.publish(notice);
  }

  /** Starts polling, until `close`. */
  listen(learners: Readonly<Record<CooldownNotice["kind"], CooldownListener>>): void {
    const shared = this.#shared;
    if (shared === undefined || this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.#receive(shared, learners), this.#everyMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#poll = undefined;
  }

  async #receive(
    shared: SharedHealth,
    learners: Readonly<Record<CooldownNotice["kind"], CooldownListener>>,
  ): Promise<void> {
    const askedMs = this.#clock.monotonicMs();
    if (this.#poll !== undefined && askedMs - this.#poll.askedMs < this.#answerWithinMs) return;
    const poll = { askedMs };
    this.#poll = poll;
    const notices = await shared.read().catch(() => []);
    // It was abandoned, or the exchange is closed.
    if (this.#poll !== poll) return;
    this.#poll = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const { kind, id, forMs } of notices) {
      // As if it had been said when it was asked: an answer that was long on its way holds no longer.
      const leftMs = forMs - (nowMs - askedMs);
      if (leftMs > 0) learners[kind].learn(id, leftMs, nowMs);
    }
  }
}
