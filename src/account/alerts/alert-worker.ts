import {
  type Clock,
  Job,
  type Logger,
  type MailAttachment,
  type Mailer,
  warnWith,
} from "../../kernel/index.ts";
import type { AlertEvent } from "./alert-kinds.ts";
import type { DueDelivery, TryAnswer } from "./alert-store.ts";
import { alertLink, alertText } from "./alert-text.ts";
import type { AlertQueue } from "./postgres-alert-queue.ts";
import type { WebhookSender } from "./webhook-sender.ts";

const TICK_MS = 5_000;
const NOTICE_EVERY_MS = 15_000;
const POLL_MS = 1_000;
/**
 * The most deliveries in flight per process. An organization has at most 20 of them (two for each
 * of its ten destinations), so no organization can block the others.
 */
const PLACES = 32;

export interface AlertWorkerDeps {
  readonly queue: AlertQueue;
  /** Undefined if no mail server is configured. */
  readonly mailer: Mailer | undefined;
  readonly webhook: WebhookSender;
  readonly consoleUrl: () => string;
  readonly documentOf: (event: AlertEvent) => Promise<MailAttachment | undefined>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Every instance runs a worker; the database gives a delivery to one of them at a time. */
export class AlertWorker {
  readonly #deps: AlertWorkerDeps;
  readonly job: Job;
  readonly #underWay = new Set<Promise<void>>();
  #noticedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AlertWorkerDeps) {
    this.#deps = deps;
    const failed = warnWith(
      deps.log,
      "alerts could not be noticed or delivered; this will be retried",
    );
    this.job = new Job(TICK_MS, () => this.#noticeAndDeliver(), failed);
  }

  async close(): Promise<void> {
    await this.job.close();
    await Promise.all(this.#underWay);
    this.#deps.mailer?.close();
  }

  async #noticeAndDeliver(): Promise<void> {
    const { queue, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#noticedAtMs >= NOTICE_EVERY_MS) {
      this.#noticedAtMs = nowMs;
      await queue.notice();
    }
    await this.deliverDue(TICK_MS);
  }

  /** Delivers until nothing is due, or for `forMs`; returns the number of tries that it began. */
  async deliverDue(forMs = Number.POSITIVE_INFINITY): Promise<number> {
    const { clock } = this.#deps;
    const lastMs = clock.monotonicMs() + forMs;
    let tried = 0;
    do {
      tried += await this.#fill();
      if (this.#underWay.size === 0) break;
      await this.#waitForOne();
    } while (clock.monotonicMs() < lastMs);
    return tried;
  }

  async #fill(): Promise<number> {
    const free = PLACES - this.#underWay.size;
    if (free === 0 || this.job.isStopping) return 0;
    const due = await this.#deps.queue.takeDue(free);
    for (const delivery of due) {
      const run = this.#deliver(delivery).finally(() => this.#underWay.delete(run));
      this.#underWay.add(run);
    }
    return due.length;
  }

  /** Resolves when a try ends, or after a second, since another delivery may be due by then. */
  async #waitForOne(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const pause = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, POLL_MS);
    });
    await Promise.race([...this.#underWay, pause]);
    clearTimeout(timer);
  }

  /** Never rejects. A try whose end cannot be recorded is repeated when its lease ends. */
  async #deliver(delivery: DueDelivery): Promise<void> {
    const { queue, webhook, log } = this.#deps;
    try {
      const send = delivery.channel === "email" ? this.#mail(delivery) : webhook(delivery);
      const tried = await send;
      const retryMs = tried.end === "failed" ? RETRY_MS[delivery.tries - 1] : undefined;
      await queue.end(delivery, tried, retryMs);
    } catch (fault) {
      log.warn({ err: fault }, "the end of an alert's delivery could not be recorded");
    }
  }

  async #mail(due: DueDelivery): Promise<TryAnswer> {
    const { event, address, destinationId, stopToken = "" } = due;
    const { mailer, consoleUrl } = this.#deps;
    if (mailer === undefined) return { end: "unsent", answer: "no mail server is configured" };
    const messageId = `<${event.eventId}.${destinationId}@alerts.tokenmarket>`;
    const attachments = await this.#attachmentsOf(event);
    const stopUrl = alertLink(stopToken, consoleUrl());
    const text = alertText(event, consoleUrl(), stopUrl);
    const message = { to: address, messageId, attachments, stopUrl, ...text };
    const { kind, answer } = await mailer.send(message);
    return { end: MAIL_ENDS[kind], answer };
  }

  /** Also empty if the document cannot be made: the e-mail has a link to a page that offers it. */
  async #attachmentsOf(event: AlertEvent): Promise<readonly MailAttachment[]> {
    try {
      const document = await this.#deps.documentOf(event);
      return document === undefined ? [] : [document];
    } catch (fault) {
      this.#deps.log.warn({ err: fault }, "the document of an alert could not be attached");
      return [];
    }
  }
}

const MAIL_ENDS = { sent: "delivered", refused: "refused", unavailable: "failed" } as const;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The waits after failed tries, about three days in total. A last try follows the last wait. */
export const RETRY_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  20 * HOUR_MS,
];
