import type { Endpoint } from "./endpoint.ts";

/** The jobs that the main process gives to the load process. */
export type LoadJob =
  | ({ readonly kind: "closed_loop" } & RequestLoad & Watched)
  | ({ readonly kind: "paced"; readonly requestsPerSecond: number } & RequestLoad & Watched)
  | ({ readonly kind: "open_streams"; readonly streams: number } & Destination)
  | ({ readonly kind: "watch_streams"; readonly windowMs: number } & Watched)
  | { readonly kind: "await_stream_ends"; readonly timeoutMs: number };

export interface Destination {
  readonly endpoint: Endpoint;
  readonly body: string;
  /** Ports that connections are opened to in turn, in place of the endpoint's own. */
  readonly ports?: readonly number[];
  /** Keys that take turns, in place of the endpoint's own. */
  readonly keys?: readonly string[];
  /** The status of every answer; default 200. */
  readonly status?: number;
  /** A word that the probe's answer has to have, where it is refused. */
  readonly code?: string;
}

export interface RequestLoad extends Destination {
  readonly connections: number;
  readonly warmupMs: number;
  readonly windowMs: number;
}

/** Processes whose processor time is read at both ends of the window. */
export interface Watched {
  readonly processIds: readonly number[];
  /** Other processes of the same target, a database for one; reported separately. */
  readonly helperProcessIds: readonly number[];
  readonly redisProcessIds: readonly number[];
}

/** The result of one job. `count` is requests answered, events received or streams, by kind of job. */
export interface LoadReport {
  readonly count: number;
  readonly windowMs: number;
  readonly cpuNs: number;
  readonly helperCpuNs: number;
  readonly redisCpuNs: number;
  readonly failures: number;
  /** The first failure as a text, empty when there was none. */
  readonly firstFailure: string;
  /** Milliseconds, of the paced load only. */
  readonly p50Ms: number;
}
