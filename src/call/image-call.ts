import { assert } from "../core/assert.ts";
import type { Deployment } from "../catalog/catalog.ts";
import { parseUsdToPico, type PicoUsd } from "../core/money.ts";
import { exactCost, quoteImages } from "../pricing/quote.ts";
import type { ImageReport } from "../modality/images/image-usage.ts";
import type { ImageRequest, ImageWire } from "../modality/images/image-wire.ts";
import type { CallKind } from "./call-kind.ts";

/** Images made from a text: `POST /v1/images/generations`. */
export function imageCall(wire: ImageWire): CallKind<ImageRequest> {
  return {
    modality: "image",
    read: (exchange) => wire.readImageRequest(exchange.body),
    servabilityProblem: (request, deployment) => wire.servabilityProblem(request, deployment),
    encode: (request, deployment) => wire.encode(request, deployment),
    openAnswer: (request, deployment, context) =>
      wire.openAnswer({
        request,
        deployment,
        ...context,
        costOf: (report) => costOf(report, deployment),
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
  };
}

/** What settlement will make of the report, as far as it names a cost. */
function costOf(
  { usage, costUsd }: ImageReport,
  { billing, prices }: Deployment,
): PicoUsd | undefined {
  if (billing === "reported_cost") return parseUsdToPico(costUsd ?? "");
  return usage === undefined || prices === null ? undefined : exactCost(prices, usage);
}
