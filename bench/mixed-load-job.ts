import type { Endpoint } from "./endpoint.ts";

/** One kind of request of a mixture; the load rotates over all of them. */
export interface MixedRequest {
  readonly endpoint: Endpoint;
  readonly body: string;
  readonly stream: boolean;
  /** The provider speaks another wire than the client. */
  readonly isTranslated: boolean;
}

/** The job that the main process gives to the process with the mixed load. */
export interface MixedJob {
  readonly requests: readonly MixedRequest[];
  /** The most that are open at once, with one request at a time on each. */
  readonly connections: number;
  readonly requestsPerSecond: number;
  readonly warmupMs: number;
  /** Length of one window; each ends with a report. */
  readonly windowMs: number;
  readonly windows: number;
}

/** The result of one window of time. */
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
  /** Requests that were due and found all connections in use. */
  readonly late: number;
  /** Requests that found their kept-alive connection closed, and were sent once more. */
  readonly resent: number;
  /** From the sending to the last byte, of answers that are neither streams nor translated. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** From the sending to the first byte, of streams. */
  readonly streamP50Ms: number;
  readonly streamP99Ms: number;
}
