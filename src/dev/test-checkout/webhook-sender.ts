import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Clock } from "../../kernel/index.ts";
import type { CheckoutEvent } from "./checkout-objects.ts";

const ANSWER_TIMEOUT_MS = 10_000;
const TRIES_MAX = 5;
const FIRST_PAUSE_MS = 500;
const EVENTS_KEPT_MAX = 10_000;

export interface WebhookSenderOptions {
  readonly webhookUrl: () => string;
  readonly webhookSecret: string;
  readonly clock: Clock;
  /** Delays in milliseconds, one for each copy of the event to send. An empty list sends none. */
  readonly delivery: (event: CheckoutEvent) => readonly number[];
}

/** Sends signed events, and repeats each until the receiver accepts it or TRIES_MAX is reached. */
export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #events = new Map<string, CheckoutEvent>();
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  /** The kept events, oldest first. */
  get events(): readonly CheckoutEvent[] {
    return [...this.#events.values()];
  }

  notify(event: CheckoutEvent): void {
    this.#events.set(event.id, event);
    const [oldest] = this.#events.keys();
    if (this.#events.size > EVENTS_KEPT_MAX && oldest !== undefined) this.#events.delete(oldest);
    for (const delayMs of this.#options.delivery(event)) this.#track(this.#deliver(event, delayMs));
  }

  /** Sends one copy of an event now, and returns the status of the answer. */
  async send(eventId: string): Promise<number> {
    const event = this.#events.get(eventId);
    if (event === undefined) throw new Error(`no event ${eventId}`);
    return await this.#post(event);
  }

  /** Resolves when no event is being sent. */
  async settled(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#sending);
  }

  #track(delivery: Promise<void>): void {
    const tracked = delivery.finally(() => this.#sending.delete(tracked));
    this.#sending.add(tracked);
  }

  async #deliver(event: CheckoutEvent, delayMs: number): Promise<void> {
    const { signal } = this.#stop;
    let cooldownMs = FIRST_PAUSE_MS;
    try {
      if (delayMs > 0) await sleep(delayMs, undefined, { signal });
      for (let tries = 1; tries <= TRIES_MAX; tries++) {
        const status = await this.#post(event).catch(() => 0);
        if (status >= 200 && status < 300) return;
        await sleep(cooldownMs, undefined, { signal });
        cooldownMs *= 2;
      }
    } catch {
      // The test checkout was closed, so it sends no more events.
    }
  }

  async #post(event: CheckoutEvent): Promise<number> {
    const { webhookUrl, webhookSecret, clock } = this.#options;
    const body = JSON.stringify(event);
    const seconds = Math.floor(clock.nowMs() / 1000);
    const proof = createHmac("sha256", webhookSecret).update(`${seconds}.${body}`).digest("hex");
    const timeout = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const answer = await fetch(webhookUrl(), {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "stripe-signature": `t=${seconds},v1=${proof}`,
      },
      body,
      redirect: "manual",
      signal: AbortSignal.any([timeout, this.#stop.signal]),
    });
    await answer.body?.cancel();
    return answer.status;
  }
}
