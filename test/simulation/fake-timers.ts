import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";

import type { Actor, Happening } from "./virtual-time.ts";

/** Receives the timers that simulated code sets. */
export interface TimerHost {
  /** The actor whose code runs; undefined while no simulated code runs: timers are real then. */
  readonly current: Actor | undefined;
  schedule(actor: Actor, delayMs: number, label: string, run: () => void): Happening;
}

type Callback = (...values: unknown[]) => void;

/** The part of a Node timer that the program uses. */
class FakeTimer {
  happening: Happening | undefined;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  cancel(): void {
    if (this.happening !== undefined) this.happening.isCancelled = true;
    this.happening = undefined;
  }
}

let installed = false;

/**
 * Replaces the global timers and those of `node:timers/promises` by timers of the host. Each
 * belongs to the actor whose code set it. Returns a function that restores the real timers.
 */
export function installTimers(host: TimerHost): () => void {
  if (installed) throw new Error("one simulation at a time: the timers are global");
  installed = true;
  const real = {
    setTimeout,
    setInterval,
    setImmediate,
    clearTimeout,
    clearInterval,
    clearImmediate,
  };
  const realSleep = timersPromises.setTimeout;
  const clear = (realClear: (timer: never) => void) => (timer: unknown) => {
    if (timer instanceof FakeTimer) timer.cancel();
    else realClear(timer as never);
  };
  Object.assign(globalThis, {
    setTimeout: (run: Callback, ms?: number, ...values: unknown[]) =>
      host.current === undefined
        ? real.setTimeout(run, ms, ...values)
        : startTimer(host, ms, () => run(...values)),
    setImmediate: (run: Callback, ...values: unknown[]) =>
      host.current === undefined
        ? real.setImmediate(run, ...values)
        : startTimer(host, 0, () => run(...values)),
    setInterval: (run: Callback, ms?: number, ...values: unknown[]) =>
      host.current === undefined
        ? real.setInterval(run, ms, ...values)
        : startInterval(host, ms, () => run(...values)),
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
    clearImmediate: clear(real.clearImmediate),
  });
  const sleep = (ms?: number, value?: unknown, options?: object): Promise<unknown> =>
    host.current === undefined
      ? realSleep(ms, value, options)
      : new Promise((resolve) => startTimer(host, ms, () => resolve(value)));
  setPromisedTimeout(sleep);
  return () => {
    Object.assign(globalThis, real);
    setPromisedTimeout(realSleep);
    installed = false;
  };
}

/** Replaces `setTimeout` of `node:timers/promises` also for modules that imported it by name. */
function setPromisedTimeout(sleep: unknown): void {
  Object.assign(timersPromises, { setTimeout: sleep });
  syncBuiltinESMExports();
}

function startTimer(host: TimerHost, ms: number | undefined, run: () => void): FakeTimer {
  const timer = new FakeTimer();
  set(host, timer, { ms, label: "timer", run });
  return timer;
}

function startInterval(host: TimerHost, ms: number | undefined, run: () => void): FakeTimer {
  const timer = new FakeTimer();
  const again = (): void => {
    set(host, timer, { ms, label: "interval", run: again });
    run();
  };
  set(host, timer, { ms, label: "interval", run: again });
  return timer;
}

function set(
  host: TimerHost,
  timer: FakeTimer,
  plan: { readonly ms: number | undefined; readonly label: string; readonly run: () => void },
): void {
  const { current } = host;
  if (current === undefined) throw new Error("a simulated timer belongs to an actor");
  timer.happening = host.schedule(current, plan.ms ?? 0, plan.label, plan.run);
}
