import type { Delivery } from "./deliver.ts";
import type { Dialect } from "./dialect.ts";
import type { JsonObject } from "./json.ts";
import type { RequestHeaders } from "./sim-error.ts";
import type { VideoJob, VideoJobs } from "./videos/video-jobs.ts";

export interface ReceivedCall {
  readonly delivery: Delivery;
  readonly method: string;
  readonly path: string;
  /** Returns the variant of `dialect` that the provider at `path` speaks. */
  readonly speak: (dialect: Dialect, wire: string, path: string) => Dialect;
  readonly headers: RequestHeaders;
  /** Undefined if the body is not JSON. */
  readonly body: unknown;
  readonly bodyBytes: number;
  readonly servesModel: (model: string) => boolean;
  readonly models: readonly string[];
  readonly serial: string;
  readonly createdS: number;
  readonly jobs: VideoJobs;
  /** Returns the number of a new answer, from 1; chats, images and decisions count together. */
  readonly nextChatAnswer: () => number;
  readonly kept: Map<string, unknown>;
}

export interface Route {
  readonly method: string;
  readonly wire: string;
  /** Calls of `generation` and `job` are logged; only `generation` counts in the total of calls. */
  readonly kind: "generation" | "job" | "free";
  readonly requestIdHeader: string;
  /** The text of the body in which a client may write a fault script. */
  faultText(body: JsonObject): string;
  /** The fault script of `job` for this call; undefined if it has none. */
  ownFault?(job: VideoJob): string | undefined;
  answer(call: ReceivedCall): Promise<void>;
}
