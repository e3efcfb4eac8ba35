import type { RunningGateway, SettingsSource } from "../app/index.ts";
import { type Config, Fault } from "../kernel/index.ts";
import {
  chooseExitCode,
  type CommandContext,
  endServer,
  makeStopListener,
  reportFault,
} from "./command-context.ts";
import { followSupervisor, workerNumber } from "./workers.ts";

export interface Serving {
  readonly gateway: RunningGateway;
  close(): Promise<void>;
}

/** After the grace time, this is left for last stream events, settlements and closing stores. */
const STOP_EXTRA_MS = 10_000;

class StopFault extends Fault {}

/**
 * Runs a server until a signal stops it; a second one, at least a second later, ends it at once.
 * SIGHUP reads settings, secrets and manifests again. A stop never takes longer than the drain delay, the grace time and
 * `STOP_EXTRA_MS` together.
 */
export async function runToEnd(
  context: CommandContext,
  settings: SettingsSource,
  start: (config: Config) => Promise<Serving>,
): Promise<void> {
  let serving: Serving | undefined;
  let longestStopMs = STOP_EXTRA_MS;
  let lastMoment: NodeJS.Timeout | undefined;
  let requestStop = (): void => undefined;
  const stopRequested = new Promise<void>((resolve) => {
    requestStop = resolve;
  });
  const beginStop = (): void => {
    lastMoment = setTimeout(() => giveUp(context, longestStopMs), longestStopMs);
    requestStop();
  };
  const stop = makeStopListener(beginStop, () => endServer(context, 1));
  const reload = (): void => serving?.gateway.reload();
  let stopListening = (): void => undefined;
  if (workerNumber() === undefined) {
    stopListening = onSignals({ SIGTERM: stop, SIGINT: stop, SIGHUP: reload });
  } else {
    followSupervisor({ stop, reload });
  }
  try {
    const config = settings.read(context.secrets);
    longestStopMs += config.shutdownDelayMs + config.shutdownGraceMs;
    serving = await start(config);
    // The signal may already have arrived during the start.
    await stopRequested;
    await serving.close();
    endServer(context, 0);
  } catch (fault) {
    reportFault(context, fault);
    endServer(context, chooseExitCode(fault));
  } finally {
    clearTimeout(lastMoment);
    stopListening();
  }
}

function giveUp(context: CommandContext, afterMs: number): void {
  const message =
    `not stopped after ${Math.round(afterMs / 1_000)} s (the stores do not answer, or the start ` +
    "still waits): ended without them; the next start settles what is open";
  reportFault(context, new StopFault(message));
  endServer(context, 2);
}

/** Runs `work`, which SIGTERM and SIGINT abort. */
export async function untilSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  const stopListening = onSignals({ SIGTERM: abort, SIGINT: abort });
  try {
    return await work(stop.signal);
  } finally {
    stopListening();
  }
}

/** Listens to signals of this process until the returned function is called. */
function onSignals(
  listeners: Partial<Record<"SIGTERM" | "SIGINT" | "SIGHUP", () => void>>,
): () => void {
  const entries = Object.entries(listeners);
  for (const [signal, listener] of entries) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of entries) process.off(signal, listener);
  };
}
