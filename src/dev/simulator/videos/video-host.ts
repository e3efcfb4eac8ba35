import { toTicks, toUsd, rawNumber, type JsonObject } from "../json.ts";
import {
  plainError,
  referenceError,
  relayError,
  type ErrorWriter,
  type Troubles,
} from "../sim-error.ts";
import { mediaTroubles } from "../media-requests.ts";
import { any, fields, flag, type Rule } from "../shape.ts";
import type { JobView, VideoJob } from "./video-jobs.ts";
import { clipFields, measure, secondsUpTo, type VideoOrder } from "./video-order.ts";

export interface ShownJob {
  readonly job: VideoJob;
  readonly view: JobView;
  readonly fileUrl: string;
}

export interface VideoHost {
  readonly secondsMax: number;
  accepts(secondsMax: number): Rule;
  readonly error: ErrorWriter;
  readonly troubles: Troubles;
  readonly idPrefix: string;
  readonly createStatus: number;
  created(shown: ShownJob): JsonObject;
  record(shown: ShownJob): JsonObject;
  ended(shown: ShownJob): JsonObject;
  /** True if the provider no longer finds a job after its deletion. */
  readonly forgets: boolean;
}

function filmFields(secondsMax: number): Readonly<Record<string, Rule>> {
  return {
    ...clipFields(secondsMax),
    duration: secondsUpTo(secondsMax),
    resolution: measure,
    aspect_ratio: measure,
    generate_audio: flag,
  };
}

const CENTS_PER_SECOND = 10;
const DAY_S = 86_400;

export function priceVideo({ seconds }: VideoOrder): string {
  return toUsd(seconds * CENTS_PER_SECOND);
}

/** A provider whose jobs have a state, progress and dates. */
export const referenceVideos: VideoHost = {
  secondsMax: 12,
  accepts: (secondsMax) => fields({ ...clipFields(secondsMax), size: measure }),
  error: referenceError,
  troubles: buildTroubles("moderation_blocked"),
  idPrefix: "video_",
  createStatus: 200,
  created: referenceRecord,
  record: referenceRecord,
  ended: ({ job }) => ({ id: job.id, object: "video.deleted", deleted: true }),
  forgets: true,
};

function referenceRecord(shown: ShownJob): JsonObject {
  const { job, view } = shown;
  const { order, createdS } = job;
  const isDone = view.state === "completed";
  const { code, message } = reportError(shown, "moderation_blocked");
  return {
    id: job.id,
    object: "video",
    model: order.model,
    status: view.state,
    progress: view.progress,
    created_at: createdS,
    completed_at: isDone ? createdS : null,
    expires_at: isDone ? createdS + DAY_S : null,
    seconds: String(order.seconds),
    size: order.size,
    remixed_from_video_id: null,
    error: view.state === "failed" ? { code, message } : null,
    ...reportUsage(shown, (usd) => ({ cost: rawNumber(usd) })),
  };
}

/** A provider that answers a create call with few fields, and reports an error as one text. */
export const relayVideos: VideoHost = {
  secondsMax: 8,
  accepts: (secondsMax) =>
    fields({
      ...filmFields(secondsMax),
      ...any("seed provider callback_url"),
      size: measure,
    }),
  error: relayError,
  troubles: buildTroubles("content_policy_violation"),
  idPrefix: "job-",
  createStatus: 202,
  created: ({ job, view }) => ({
    id: job.id,
    polling_url: `${job.root}/videos/${job.id}`,
    status: relayWord(view),
  }),
  record: (shown) => {
    const { job, view, fileUrl } = shown;
    const { code, message } = reportError(shown, "content_policy_violation");
    return {
      id: job.id,
      generation_id: `gen-${job.id}`,
      polling_url: `${job.root}/videos/${job.id}`,
      status: relayWord(view),
      ...(hasFile(shown) ? { unsigned_urls: [fileUrl] } : {}),
      ...(view.state === "failed" ? { error: `${code}: ${message}` } : {}),
      ...reportUsage(shown, (usd) => ({ cost: rawNumber(usd), is_byok: false })),
    };
  },
  ended: ({ job, view }) => ({ id: job.id, status: relayWord(view) }),
  forgets: false,
};

function relayWord({ state }: JobView): string {
  return state === "queued" ? "pending" : state;
}

/** Its open jobs are `pending`, completed ones `done`, and films say if they passed moderation. */
export const plainVideos: VideoHost = {
  secondsMax: 15,
  accepts: (secondsMax) => fields(filmFields(secondsMax)),
  error: plainError,
  troubles: buildTroubles("content_policy_violation"),
  idPrefix: "",
  createStatus: 200,
  created: ({ job }) => ({ request_id: job.id }),
  record: plainRecord,
  ended: ({ job, view }) => ({ request_id: job.id, status: plainWord(view) }),
  forgets: false,
};

function plainRecord(shown: ShownJob): JsonObject {
  const { job, view, fileUrl } = shown;
  const isRefused = view.isFinal && job.plan.moderated === true;
  const { code, message } = reportError(shown, "video_generation_failed");
  return {
    status: isRefused ? "done" : plainWord(view),
    model: job.order.model,
    ...(isRefused ? { video: { url: "", respect_moderation: false } } : {}),
    ...(hasFile(shown)
      ? { video: { url: fileUrl, duration: job.order.seconds, respect_moderation: true } }
      : {}),
    ...(view.state === "failed" && !isRefused ? { error: { code, message } } : {}),
    ...reportUsage(shown, (usd) => ({ cost_in_usd_ticks: rawNumber(toTicks(usd)) })),
  };
}

function plainWord({ state }: JobView): string {
  if (state === "completed") return "done";
  return state === "queued" || state === "in_progress" ? "pending" : state;
}

export function hasFile({ job, view }: Pick<ShownJob, "job" | "view">): boolean {
  const isDone = ["completed", "done", "succeeded"].includes(view.state);
  return isDone && job.plan.no_content !== true && job.plan.moderated !== true;
}

/*
 * A completed job that passed moderation reports its cost unless `plan.cost` is null. Any other job
 * in a final state reports a cost only if `plan.cost` is an amount.
 */
function reportUsage(
  { job, view }: ShownJob,
  worded: (costUsd: string) => JsonObject,
): { readonly usage?: JsonObject } {
  const { cost: scripted } = job.plan;
  const isDone = view.state === "completed" && job.plan.moderated !== true;
  const costUsd = scripted ?? priceVideo(job.order);
  const isReported = view.isFinal && scripted !== null && (isDone || scripted !== undefined);
  return isReported ? { usage: worded(costUsd) } : {};
}

function reportError(
  { job }: ShownJob,
  moderationCode: string,
): { readonly code: string; readonly message: string } {
  const { plan } = job;
  const isRefused = plan.moderated === true;
  return {
    code: plan.code ?? (isRefused ? moderationCode : "video_generation_failed"),
    message:
      plan.message ??
      (isRefused
        ? "the clip was taken by moderation"
        : "Simulated failure of a job: secret-provider-words"),
  };
}

function buildTroubles(code: string): Troubles {
  const message = "Your request was rejected by our safety system.";
  return mediaTroubles({ status: 400, code, message });
}
