import type { Clock, Logger } from "../core/index.ts";
import type { IdentityStore } from "./identity-store.ts";

const SWEEP_EVERY_MS = 60_000;

/** Forgets what ended long ago, every minute; the function returned stops it and waits for it. */
export function keepSwept(options: {
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly log: Logger;
}): () => Promise<void> {
  const { store, clock, log } = options;
  let running: Promise<unknown> | undefined;
  const sweep = (): void => {
    running ??= store
      .sweep(clock.nowMs())
      .catch((fault: unknown) => log.warn({ err: fault }, "expired sign-ins could not be deleted"))
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(sweep, SWEEP_EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
