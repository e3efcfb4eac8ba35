import { type Clock, type Logger, Repeated } from "../core/index.ts";
import type { Mailer } from "../mail/index.ts";
import type { AlertQueue, DeliveryEnd, DueDelivery } from "./alert-store.ts";
import { alertText } from "./alert-text.ts";
import { retryAfterMs } from "./retry-times.ts";

const TICK_MS = 5_000;
const NOTICE_EVERY_MS = 15_000;
const DELIVERIES_AT_ONCE = 8;
/** Between two rounds of one tick the program may have to stop. */
const ROUNDS_PER_TICK = 20;

/** How a try went. `isFinal`: another one would end the same. */
interface TryAnswer {
  readonly isDelivered: boolean;
  readonly isFinal: boolean;
  readonly answer: string;
}

export interface AlertWorkerDeps {
  readonly queue: AlertQueue;
  /** Undefined: no mail server is configured. */
  readonly mailer: Mailer | undefined;
  readonly consoleUrl: () => string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Notices and delivers, on every instance; the store decides who does which. */
export class AlertWorker {
  readonly #deps: AlertWorkerDeps;
  readonly #rounds = new Repeated(() => this.#tick(), TICK_MS);
  #noticedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AlertWorkerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#rounds.start();
  }

  async close(): Promise<void> {
    await this.#rounds.close();
    this.#deps.mailer?.close();
  }

  async #tick(): Promise<void> {
    const { queue, clock, log } = this.#deps;
    try {
      const nowMs = clock.monotonicMs();
      if (nowMs - this.#noticedAtMs >= NOTICE_EVERY_MS) {
        this.#noticedAtMs = nowMs;
        await queue.notice();
      }
      await this.deliverDue();
    } catch (fault) {
      log.warn({ err: fault }, "alerts could not be noticed or delivered; this will be retried");
    }
  }

  /** Delivers until nothing is due; answers how many tries it made. */
  async deliverDue(): Promise<number> {
    let tried = 0;
    for (let round = 0; round < ROUNDS_PER_TICK && !this.#rounds.isClosed; round += 1) {
      const due = await this.#deps.queue.takeDue(DELIVERIES_AT_ONCE);
      await Promise.all(due.map((delivery) => this.#deliver(delivery)));
      tried += due.length;
      if (due.length < DELIVERIES_AT_ONCE) break;
    }
    return tried;
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const answer = await this.#mail(delivery);
    await this.#deps.queue.end(delivery, endOf(delivery, answer));
  }

  async #mail({ event, address, destinationId }: DueDelivery): Promise<TryAnswer> {
    const { mailer, consoleUrl } = this.#deps;
    if (mailer === undefined) {
      return { isDelivered: false, isFinal: false, answer: "no mail server is configured" };
    }
    const messageId = `<${event.eventId}.${destinationId}@alerts.tokenmarket>`;
    const message = { to: address, messageId, ...alertText(event, consoleUrl()) };
    const { kind, answer } = await mailer.send(message);
    return { isDelivered: kind === "sent", isFinal: kind === "refused", answer };
  }
}

function endOf({ tries }: DueDelivery, { isDelivered, isFinal, answer }: TryAnswer): DeliveryEnd {
  if (isDelivered) return { isDelivered, answer };
  return { isDelivered, answer, retryMs: isFinal ? undefined : retryAfterMs(tries) };
}
