import type { Deadline, Deadlines } from "../core/deadlines.ts";
import type { Clock } from "../core/time.ts";
import type { ClientExchange } from "./client-exchange.ts";

/**
 * Waits for the turn of a paced request; ends early when the client leaves, whose place is then
 * free. The shared timer is coarse: a turn may start one tick late, never early.
 */
export function waitTurn(
  deps: { readonly clock: Clock; readonly deadlines: Deadlines },
  exchange: ClientExchange,
  queueMs: number,
): Promise<void> {
  if (queueMs <= 0 || exchange.gone) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      deps.deadlines.unwatch(turn);
      resolve();
    };
    const turn: Deadline = {
      dueMs: deps.clock.monotonicMs() + queueMs,
      watchedAt: -1,
      onDue: end,
      cut: end,
    };
    deps.deadlines.watch(turn);
    exchange.onGone(end);
  });
}
