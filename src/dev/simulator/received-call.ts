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
  /** The variant of a wire that the provider at this path speaks. */
  readonly speak: (dialect: Dialect, wire: string, path: string) => Dialect;
  readonly headers: RequestHeaders;
  /** The parsed body; undefined when it was not JSON. */
  readonly body: unknown;
  readonly bodyBytes: number;
  readonly servesModel: (model: string) => boolean;
  /** Ids of the list of models. */
  readonly models: readonly string[];
  readonly serial: string;
  /** Arrival time in seconds since 1970. */
  readonly createdS: number;
  readonly jobs: VideoJobs;
  /** The number of the next chat answer of the simulator, from 1. */
  readonly nextChatAnswer: () => number;
  /** Values that a cheating provider stores for later answers. */
  readonly kept: Map<string, unknown>;
}

/** The handler of a path. */
export interface Route {
  readonly method: string;
  readonly wire: string;
  /** Only generations count in the total; `free` calls are not logged. */
  readonly kind: "generation" | "job" | "free";
  readonly requestIdHeader: string;
  /** The text of the body that may contain a fault script. */
  faultText(body: JsonObject): string;
  /** The fault script of the job that this call is about. */
  ownFault?(job: VideoJob): string | undefined;
  answer(call: ReceivedCall): Promise<void>;
}
