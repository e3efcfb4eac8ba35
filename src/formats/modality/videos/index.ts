import { type Deployment, quoteWorstCase } from "../../../catalog/index.ts";
import { assert } from "../../../kernel/index.ts";
import type { Modality } from "../../wire/modality.ts";
import { AcceptBridge } from "./accept-bridge.ts";
import { encodeVideoRequest, resolveSeconds, servabilityProblem } from "./servability.ts";
import { parseVideoRequest, type ParsedVideoRequest } from "./parse-request.ts";

export { isVideoAccept } from "./accept-bridge.ts";
export { readJob } from "./read-job.ts";

/** `POST /v1/videos`: answered as soon as a provider has accepted the job. */
export const videos: Modality<ParsedVideoRequest> = {
  modality: "video",
  family: "videos",
  read: (client) => parseVideoRequest(client.body, client.header("content-type")),
  servabilityProblem,
  encode: (request, deployment) => ({
    ok: true,
    upstream: encodeVideoRequest(request, deployment),
  }),
  openAnswer: (request, deployment) => new AcceptBridge(request, deployment),
  quote: (request, deployment) => {
    const { prices, maxOutputTokens } = deployment;
    assert(prices !== null, "a plan has no unpriced deployment");
    assert(maxOutputTokens !== undefined, "a video listing has a ceiling per second");
    const output = resolveSeconds(request, deployment) * maxOutputTokens;
    return quoteWorstCase(prices, { input: 0, output });
  },
  timeouts: "videoAccept",
};

export function jobPath({ videosPath }: Deployment, providerJobId: string): string {
  return `${videosPath}/${encodeURIComponent(providerJobId)}`;
}

export function contentPath(deployment: Deployment, providerJobId: string): string {
  return `${jobPath(deployment, providerJobId)}/content`;
}
