import { type Deployment, exactCost, quoteImages } from "../../../catalog/index.ts";
import { assert, parseUsdToPico, type PicoUsd } from "../../../kernel/index.ts";
import type { Modality } from "../../wire/modality.ts";
import { encodeImageRequest, servabilityProblem } from "./encode-image-request.ts";
import { ImageBridge } from "./image-bridge.ts";
import type { ImageReport } from "./image-usage.ts";
import { parseImageRequest, type ParsedImageRequest } from "./parse-request.ts";
import { unusableImagesFailure } from "./read-image-answer.ts";
import { classifyFailure } from "../../wire/failure/classify-failure.ts";

/** `POST /v1/images/generations`: images made from a text. */
export const images: Modality<ParsedImageRequest> = {
  modality: "image",
  family: "images",
  read: (client) => parseImageRequest(client.body),
  servabilityProblem,
  encode: (request, deployment) => ({
    ok: true,
    upstream: encodeImageRequest(request, deployment),
  }),
  openAnswer: (request, deployment, context) =>
    new ImageBridge({
      request,
      deployment,
      ...context,
      costOf: (report) => priceReport(report, deployment),
    }),
  quote: (request, { prices, maxOutputTokens }) => {
    assert(prices !== null, "a plan has no unpriced deployment");
    assert(maxOutputTokens !== undefined, "an image listing has a ceiling for each image");
    return quoteImages(prices, {
      input: request.estimatedInputTokens,
      images: request.count,
      ceiling: maxOutputTokens,
    });
  },
  classify: (failed, _deployment, nowMs) =>
    failed.status < 300 ? unusableImagesFailure() : classifyFailure(failed, nowMs),
};

/** The cost that settlement computes from the report; undefined if the report does not suffice. */
function priceReport(
  { usage, costUsd }: ImageReport,
  { billing, prices }: Deployment,
): PicoUsd | undefined {
  if (billing === "reported_cost") return parseUsdToPico(costUsd ?? "");
  return usage === undefined || prices === null ? undefined : exactCost(prices, usage);
}
