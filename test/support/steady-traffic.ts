import { systemClock } from "../../src/kernel/core/time.ts";
import type { HttpAnswer } from "./ask.ts";

interface Sent {
  readonly tookMs: number;
  /** "" if the request was served. */
  readonly problem: string;
}

/** Sends a fixed number of requests per second until it is stopped, without waiting for answers. */
export class SteadyTraffic {
  readonly #timer: NodeJS.Timeout;
  readonly #sent: Promise<Sent>[] = [];

  constructor(perSecond: number, send: () => Promise<HttpAnswer>) {
    this.#timer = setInterval(() => {
      this.#sent.push(timed(send));
    }, 1_000 / perSecond);
  }

  get count(): number {
    return this.#sent.length;
  }

  async stop(): Promise<readonly Sent[]> {
    clearInterval(this.#timer);
    return await Promise.all(this.#sent);
  }
}

export function problemsOf(sent: readonly Sent[]): readonly string[] {
  return [...new Set(sent.map(({ problem }) => problem))].filter((problem) => problem !== "");
}

export function quantileMs(sent: readonly Sent[], share: number): number {
  const sorted = sent.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function timed(send: () => Promise<HttpAnswer>): Promise<Sent> {
  const beganMs = systemClock.monotonicMs();
  const problem = await send().then(
    ({ status, text }) => (status === 200 ? "" : `${status} ${text}`),
    (fault: unknown) => String(fault),
  );
  return { tookMs: systemClock.monotonicMs() - beganMs, problem };
}
