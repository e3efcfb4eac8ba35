import type { MachineFacts } from "./results.ts";
import type { SoakEvent } from "./soak-events.ts";
import type { SoakOptions } from "./soak-options.ts";

/** What one instance says of itself, and the kernel of it. */
export interface InstanceFigures {
  readonly residentMb: number;
  readonly heapUsedMb: number;
  readonly eventLoopP99Ms: number;
}

/** One interval of a soak. */
export interface SoakSample {
  /** Since the load began, at the end of the interval. */
  readonly seconds: number;
  /** Null: it is being restarted. */
  readonly instances: readonly (InstanceFigures | null)[];
  /** Of one core, both instances together. */
  readonly gatewayCpuPercent: number;
  /** Null: the primary is away. */
  readonly databaseConnections: number | null;
  readonly requestsPerSecond: number;
  readonly announced: number;
  readonly errors: number;
  readonly late: number;
  readonly resent: number;
  /** Same wire, no stream: to the last byte. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Streams: to the first byte. */
  readonly streamP50Ms: number;
  readonly streamP99Ms: number;
}

export interface SoakResults {
  readonly format: 2;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly node: string;
  readonly machine: MachineFacts;
  readonly command: string;
  readonly options: SoakOptions;
  readonly highestPerSecond: number | undefined;
  readonly requestsPerSecond: number;
  readonly samples: readonly SoakSample[];
  readonly events: readonly SoakEvent[];
  readonly answered: number;
  readonly streams: number;
  /** The whole answer, head and body: the page has its body. */
  readonly firstAnnounced: string;
  readonly firstError: string;
  readonly auditViolations: number;
  readonly auditChecks: number;
  readonly holdsLeft: number;
}
