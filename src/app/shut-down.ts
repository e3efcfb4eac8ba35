import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import type { CallPorts, Readiness } from "../gateway/index.ts";

const SHUTDOWN_POLL_MS = 50;
/** Time in which requests that were cut off send their terminal events and are settled. */
const LAST_ANSWERS_MS = 5_000;

/** Fails readiness, then waits: load balancers send requests until a probe has failed. */
export async function drain(readiness: Readiness, delayMs: number): Promise<void> {
  const isKnown = readiness.state === "serving";
  readiness.drain();
  if (isKnown && delayMs > 0) await sleep(delayMs);
}

/**
 * Waits until running requests have ended, and until answers whose client has left are read to
 * their end. Requests that outlive the grace time end with the terminal error event of their wire,
 * and are settled for the usage reported so far.
 */
export async function finishRequests(
  servers: readonly Server[],
  serve: CallPorts,
  graceMs: number,
): Promise<void> {
  for (const server of servers) server.close();
  await emptied(servers, serve, graceMs);
  serve.deadlines.cutAll();
  await emptied(servers, serve, LAST_ANSWERS_MS);
}

async function emptied(
  servers: readonly Server[],
  serve: CallPorts,
  withinMs: number,
): Promise<void> {
  const { clock, metrics, drains } = serve;
  const lastMs = clock.monotonicMs() + withinMs;
  for (const server of servers) server.closeIdleConnections();
  while (metrics.inFlight + drains.active > 0 && clock.monotonicMs() < lastMs) {
    await sleep(SHUTDOWN_POLL_MS);
    for (const server of servers) server.closeIdleConnections();
  }
}

export function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}
