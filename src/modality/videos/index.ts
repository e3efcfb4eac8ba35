import { assert } from "../../core/assert.ts";
import type { Deployment } from "../../catalog/catalog.ts";
import { AcceptBridge } from "./accept-bridge.ts";
import { encodeVideoRequest } from "./encode-request.ts";
import { readJob } from "./read-job.ts";
import { ReadVideoRequest, readVideoRequest } from "./read-request.ts";
import type { VideoRequest, VideoWire } from "./video-wire.ts";
import { secondsOf, whyUnservable } from "./why-unservable.ts";

export { isVideoAccept } from "./accept-bridge.ts";

/** The video wire as the folders above see it. */
export const videoWire: VideoWire = {
  readVideoRequest,
  whyUnservable: (request, deployment) => whyUnservable(asRead(request), deployment),
  secondsOf,
  encode: (request, deployment) => encodeVideoRequest(asRead(request), deployment),
  openAccept: (request, deployment) => new AcceptBridge(request, deployment),
  jobPath,
  contentPath: (deployment, providerJobId) => `${jobPath(deployment, providerJobId)}/content`,
  readJob,
};

function asRead(request: VideoRequest): ReadVideoRequest {
  assert(request instanceof ReadVideoRequest, "a video request is one that was read here");
  return request;
}

function jobPath({ videosPath }: Deployment, providerJobId: string): string {
  return `${videosPath}/${encodeURIComponent(providerJobId)}`;
}
