import type { ClientExchange, ServedHeaders } from "../call/client-exchange.ts";
import { countRequest } from "../call/count-tokens.ts";
import type { Deployment } from "../../catalog/index.ts";
import { invalidRequest, refusal, type Refusal, unreachable, defined } from "../../kernel/index.ts";
import { type ContentEnd, fetchContent, ownKeyFailure } from "../../upstream/index.ts";
import { contentPath } from "../../formats/index.ts";
import { findDeployment } from "./ask-video-provider.ts";
import { findVideo, type VideoGates, type VideoReadDeps } from "./serve-video.ts";
import type { VideoDeps } from "./video-deps.ts";
import { VIDEO_ERRORS, type VideoJob } from "./video-job.ts";

/** The provider may be silent for this long while it sends a file, in milliseconds. */
const CONTENT_IDLE_MS = 60_000;

/** `GET /v1/videos/{id}/content` passes the provider's file on and counts in limits on requests. */
export async function serveVideoContent(
  deps: VideoReadDeps & VideoGates,
  exchange: ClientExchange,
  asked: { readonly id: string; readonly query: URLSearchParams },
): Promise<void> {
  const variant = asked.query.get("variant") ?? "video";
  if (variant !== "video") {
    return exchange.refuse(invalidRequest("variant must be video or left out"));
  }
  const found = await findVideo(deps, exchange, asked.id);
  if (found === undefined) return;
  const job = await deps.poller.refresh(found).catch(() => found);
  const unready = contentRefusal(job, deps.clock.nowMs());
  if (unready !== undefined) return exchange.refuse(unready);
  await deps.files.run(exchange, () => sendFile(deps, exchange, job));
}

async function sendFile(
  deps: VideoReadDeps,
  exchange: ClientExchange,
  job: VideoJob,
): Promise<void> {
  const counted = await countRequest(deps, exchange);
  if (!counted.ok) return exchange.refuse(counted.refusal);
  const deployment = await findDeployment(deps, job).catch(() => null);
  const { remainingRequests } = counted;
  const served: ServedHeaders = { provider: job.providerId, remainingRequests };
  if (deployment === undefined) return exchange.refuse(DISCONNECTED_FILE, served);
  // The database did not answer.
  if (deployment === null) return exchange.refuse(UNREACHABLE_FILE, served);
  if (exchange.gone) return;
  const range = singleRange(exchange.header("range"));
  const ifRange = exchange.header("if-range");
  const running = fetchContent({
    clock: deps.clock,
    deadlines: deps.deadlines,
    upstream: deps.upstream,
    deployment,
    path: contentPath(deployment, job.providerJobId),
    ...defined({ range, ifRange }),
    headOnly: !exchange.wantsBody,
    idleMs: CONTENT_IDLE_MS,
    totalMs: deps.timeouts.stream.totalMs,
    bytesMax: deps.videos.contentBytesMax,
    sink: {
      get committed() {
        return exchange.committed;
      },
      begin: ({ status, contentHeaders }) =>
        exchange.relay(
          status,
          { ...contentHeaders, ...ALWAYS },
          { ...served, fileName: `${job.jobId}.mp4` },
        ),
      write: (chunk) => exchange.write(chunk),
    },
  });
  exchange.onWritable(() => running.resume());
  exchange.onGone(() => running.abandon());
  const end = await running.ended;
  if (end.kind === "complete") return exchange.end("");
  noteBadEnd(deps, exchange, { job, end });
  if (end.kind === "broken") exchange.cut();
  else exchange.refuse(passThroughRefusal(deps, deployment, end), served);
}

function contentRefusal(job: VideoJob, nowMs: number): Refusal | undefined {
  const { state, errorCode, expiresAtMs } = job;
  if (errorCode !== null) {
    return invalidRequest(
      `this video has no file: it failed with ${errorCode}: ${VIDEO_ERRORS[errorCode].message}`,
    );
  }
  if (state !== "completed") {
    return invalidRequest(
      `this video is ${state}; its file is available once its status is completed`,
    );
  }
  return expiresAtMs !== null && nowMs >= expiresAtMs ? goneFile() : undefined;
}

/** Files are private, so no cache may store them. */
const ALWAYS = { "cache-control": "private, no-store", "x-content-type-options": "nosniff" };

/** Undefined unless one range is asked: for several, the answer is multipart, not a video. */
function singleRange(header: string | undefined): string | undefined {
  return header !== undefined && /^bytes=(\d+-\d*|-\d+)$/.test(header) ? header : undefined;
}

function noteBadEnd(
  deps: VideoDeps,
  exchange: ClientExchange,
  { job, end }: { readonly job: VideoJob; readonly end: ContentEnd },
): void {
  if (exchange.gone) return;
  const reason =
    end.kind === "refused"
      ? { status: end.status, reason: end.unusableReason }
      : end.kind === "unreachable"
        ? { err: end.error }
        : { reason: end.kind === "broken" ? end.reason : end.kind };
  const { jobId, deploymentId } = job;
  deps.log.warn(
    { job_id: jobId, deployment: deploymentId, ...reason },
    "a video file could not be fetched",
  );
}

function passThroughRefusal(
  deps: VideoDeps,
  deployment: Deployment,
  end: Exclude<ContentEnd, { readonly kind: "complete" | "broken" }>,
): Refusal {
  switch (end.kind) {
    case "unreachable":
      return UNREACHABLE_FILE;
    case "silent":
      return refusal("upstream_error", "the provider did not send the file in time; try again", {
        status: 504,
        origin: "upstream",
      });
    case "refused": {
      const { status, headers, isAway, unusableReason } = end;
      if (unusableReason !== undefined) return unusableFile(status);
      if (status === 404 || status === 410) return goneFile(status);
      if (isAway && status < 500) return refusedElsewhere(status);
      const failure = deps.classify.answer({ status, headers, body: NO_MESSAGES });
      return ownKeyFailure(failure, deployment).refusal;
    }
    default:
      return unreachable(end);
  }
}

const NO_MESSAGES = Buffer.alloc(0);

function goneFile(upstreamStatus?: number): Refusal {
  const message = "the provider no longer has the file of this video; generate it again";
  return refusal("not_found", message, defined({ upstreamStatus }));
}

const DISCONNECTED_FILE = refusal(
  "not_found",
  "this gateway no longer has the listing or the provider key with which this video was made, so its file cannot be fetched; generate it again",
);

const UNREACHABLE_FILE = refusal(
  "upstream_error",
  "the provider of this video could not be reached; try again in about two seconds",
  { status: 502, origin: "upstream" },
);

/** Another host than the provider got no key, so its refusal is about no key and no limit. */
function refusedElsewhere(upstreamStatus: number): Refusal {
  const message = "the file could not be fetched from where the provider keeps it; try again";
  return refusal("upstream_error", message, { status: 502, origin: "upstream", upstreamStatus });
}

function unusableFile(upstreamStatus: number): Refusal {
  const message = "the provider sent no video file that can be passed on; try again later";
  return refusal("upstream_error", message, { status: 502, origin: "upstream", upstreamStatus });
}
