import type { Endpoint } from "./endpoint.ts";

/** One kind of request of a mixture; the load rotates over all of them. */
export interface MixedRequest {
  readonly endpoint: Endpoint;
  readonly body: string;
  readonly stream: boolean;
}

/** What the main process asks of the mixed load's process. */
export interface MixedJob {
  /** The gateway, whose processor time is read at both ends of a window, and that of its children. */
  readonly processId: number;
  readonly requests: readonly MixedRequest[];
  /** One request at a time on each; of a paced load the most that are open at once. */
  readonly connections: number;
  /** Undefined: as many as are answered. */
  readonly requestsPerSecond?: number;
  readonly warmupMs: number;
  /** Length of one window; each ends with a report. */
  readonly windowMs: number;
  readonly windows: number;
}

/** What one window saw. */
export interface MixedReport {
  readonly windowMs: number;
  readonly answered: number;
  readonly streams: number;
  /** Answers 503 that say when to come again. */
  readonly announced: number;
  /** The first of them, for its reason; empty when there was none. */
  readonly firstAnnounced: string;
  /** Any other answer but 200, and streams that ended early. */
  readonly errors: number;
  readonly firstError: string;
  /** Requests of a paced load that were due and found all connections in use. */
  readonly late: number;
  readonly cpuNs: number;
  /** Of the processes below the gateway's: its database. */
  readonly helperCpuNs: number;
  /** From the sending to the last byte, of answers that are not streams. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}
