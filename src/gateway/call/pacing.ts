import {
  type Clock,
  type Deadline,
  type Deadlines,
  refused,
  type Result,
} from "../../kernel/index.ts";
import type { ClientExchange } from "./client-exchange.ts";
import { clientLeft, routingDeadlinePassed, shuttingDown } from "./refuse-call.ts";

/**
 * Waits as long as a paced request has to; ends early when the client leaves or this process shuts
 * down. The shared timer is coarse: a request may start one tick late, never early.
 */
export function waitForPacing(
  ports: { readonly clock: Clock; readonly deadlines: Deadlines },
  client: ClientExchange,
  { queueMs, timeoutMs }: { readonly queueMs: number; readonly timeoutMs: number },
): Result<object> | Promise<Result<object>> {
  if (queueMs > timeoutMs) return refused(routingDeadlinePassed(timeoutMs));
  if (queueMs <= 0) return { ok: true };
  if (client.gone) return refused(clientLeft());
  return new Promise((resolve) => {
    const end = (outcome: Result<object>): void => {
      ports.deadlines.unwatch(delay);
      resolve(outcome);
    };
    const delay: Deadline = {
      dueMs: ports.clock.monotonicMs() + queueMs,
      watchedAt: -1,
      onDue: () => end({ ok: true }),
      cut: () => end(refused(shuttingDown())),
    };
    ports.deadlines.watch(delay);
    client.onGone(() => end(refused(clientLeft())));
  });
}
