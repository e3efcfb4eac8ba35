import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import type { CallPorts, Readiness } from "../gateway/index.ts";

const SHUTDOWN_POLL_MS = 50;
/** Time in which requests that were cut off send their terminal events and are settled. */
const LAST_ANSWERS_MS = 5_000;

/** Makes readiness probes fail, then waits: load balancers send requests until one has failed. */
export async function drain(
  readiness: Readiness,
  delayMs: number,
  clock: CallPorts["clock"],
): Promise<void> {
  const lastMs = clock.monotonicMs() + (readiness.state === "serving" ? delayMs : 0);
  readiness.drain();
  while (clock.monotonicMs() < lastMs) await sleep(SHUTDOWN_POLL_MS);
}

/**
 * Waits until running requests have ended, and until answers whose client has left are read to
 * their end. Requests that outlive the grace time end with an error in the format of their wire,
 * and are settled for the usage reported so far.
 */
export async function finishRequests(
  servers: readonly Server[],
  graceMs: number,
  running: RunningRequests,
): Promise<void> {
  for (const server of servers) server.close();
  await emptied(servers, graceMs, running);
  running.deadlines.cutAll();
  await emptied(servers, LAST_ANSWERS_MS, running);
}

interface RunningRequests extends Pick<CallPorts, "clock" | "deadlines"> {
  /** The number of requests, and of answers whose client has left, that have not ended. */
  readonly inFlight: () => number;
}

async function emptied(
  servers: readonly Server[],
  withinMs: number,
  { clock, inFlight }: RunningRequests,
): Promise<void> {
  const lastMs = clock.monotonicMs() + withinMs;
  for (const server of servers) server.closeIdleConnections();
  while (inFlight() > 0 && clock.monotonicMs() < lastMs) {
    await sleep(SHUTDOWN_POLL_MS);
    for (const server of servers) server.closeIdleConnections();
  }
}

export function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}
