import type { Delivery } from "./deliver.ts";
import type { Dialect } from "./dialect.ts";
import type { JsonObject } from "./json.ts";
import type { RequestHeaders } from "./sim-error.ts";
import type { VideoJob, VideoJobs } from "./videos/video-jobs.ts";

/** One call, received and ready to be answered. */
export interface ReceivedCall {
  readonly delivery: Delivery;
  readonly method: string;
  readonly path: string;
  /** A wire as the provider at this path speaks it. */
  readonly speak: (dialect: Dialect, wire: string, path: string) => Dialect;
  readonly headers: RequestHeaders;
  /** The parsed body; undefined when it was not JSON. */
  readonly body: unknown;
  readonly bodyBytes: number;
  readonly servesModel: (model: string) => boolean;
  /** Ids of the list of models. */
  readonly models: readonly string[];
  readonly serial: string;
  /** When it came, in seconds since 1970. */
  readonly createdS: number;
  readonly jobs: VideoJobs;
  /** The number of the next chat answer of the simulator, from 1. */
  readonly nextChatAnswer: () => number;
  /** The values that a provider that cheats keeps for later answers. */
  readonly kept: Map<string, unknown>;
}

/** The target of a path. */
export interface Route {
  readonly method: string;
  readonly wire: string;
  /** Only generations are counted in total; `free` calls are not even logged. */
  readonly kind: "generation" | "job" | "free";
  readonly requestIdHeader: string;
  /** The text in which a caller may have written a fault. */
  faultText(body: JsonObject): string;
  /** The fault script that the job of this call has for it. */
  ownFault?(job: VideoJob): string | undefined;
  answer(call: ReceivedCall): Promise<void>;
}
