import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import type { CallPorts, Readiness } from "../gateway/index.ts";

const SHUTDOWN_POLL_MS = 50;
/** Time for terminal events and settlements of the requests that were cut off. */
const LAST_ANSWERS_MS = 5_000;

/** Fails readiness, then waits: load balancers send requests until they have seen the probe. */
export async function drain(readiness: Readiness, delayMs: number): Promise<void> {
  const isKnown = readiness.state === "serving";
  readiness.drain();
  if (isKnown && delayMs > 0) await sleep(delayMs);
}

/**
 * Lets running requests and drains end. Those that outlive the grace time end with their wire's
 * terminal error event, and are settled at what was reported.
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
