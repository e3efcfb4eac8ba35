import type { Deadline, Deadlines } from "../core/deadlines.ts";
import type { Refusal } from "../core/refusals.ts";
import type { Clock } from "../core/time.ts";
import type { ClientExchange } from "./client-exchange.ts";
import { clientLeft, routingDeadlinePassed, shuttingDown } from "./refuse-call.ts";

export type PacingOutcome =
  { readonly ok: true } | { readonly ok: false; readonly refusal: Refusal };

/**
 * Waits as long as a paced request has to; ends early when the client leaves or this process shuts
 * down. The shared timer is coarse: a request may start one tick late, never early.
 */
export function waitForPacing(
  ports: { readonly clock: Clock; readonly deadlines: Deadlines },
  client: ClientExchange,
  { queueMs, timeoutMs }: { readonly queueMs: number; readonly timeoutMs: number },
): Promise<PacingOutcome> {
  if (queueMs > timeoutMs) return refused(routingDeadlinePassed(timeoutMs));
  if (queueMs <= 0) return Promise.resolve({ ok: true });
  if (client.gone) return refused(clientLeft());
  return new Promise((resolve) => {
    const end = (outcome: PacingOutcome): void => {
      ports.deadlines.unwatch(delay);
      resolve(outcome);
    };
    const delay: Deadline = {
      dueMs: ports.clock.monotonicMs() + queueMs,
      watchedAt: -1,
      onDue: () => end({ ok: true }),
      cut: () => end({ ok: false, refusal: shuttingDown() }),
    };
    ports.deadlines.watch(delay);
    client.onGone(() => end({ ok: false, refusal: clientLeft() }));
  });
}

function refused(refusal: Refusal): Promise<PacingOutcome> {
  return Promise.resolve({ ok: false, refusal });
}
