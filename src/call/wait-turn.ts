import type { Deadline, Deadlines } from "../core/deadlines.ts";
import type { Clock } from "../core/time.ts";
import type { ClientExchange } from "./client-exchange.ts";

/** `left`: the client went away. `cut`: this process is shutting down. */
export type TurnEnd = "came" | "left" | "cut";

/**
 * Waits for the turn of a paced request; ends early when the client leaves, whose place is then
 * free. The shared timer is coarse: a turn may start one tick late, never early.
 */
export function waitTurn(
  deps: { readonly clock: Clock; readonly deadlines: Deadlines },
  exchange: ClientExchange,
  queueMs: number,
): Promise<TurnEnd> {
  if (queueMs <= 0) return Promise.resolve("came");
  if (exchange.gone) return Promise.resolve("left");
  return new Promise((resolve) => {
    const end = (how: TurnEnd): void => {
      deps.deadlines.unwatch(turn);
      resolve(how);
    };
    const turn: Deadline = {
      dueMs: deps.clock.monotonicMs() + queueMs,
      watchedAt: -1,
      onDue: () => end("came"),
      cut: () => end("cut"),
    };
    deps.deadlines.watch(turn);
    exchange.onGone(() => end("left"));
  });
}
