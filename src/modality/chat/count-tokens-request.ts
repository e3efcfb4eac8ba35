import { assert } from "../../core/assert.ts";
import { outputTokensDefault } from "../../core/constants.ts";
import type { Refusal } from "../../core/refusals.ts";
import type { Deployment } from "../../catalog/catalog.ts";
import type { ChatRequest } from "../../wire/chat-request.ts";
import type { ChatRequestInput } from "../../wire/chat-wire.ts";
import { encodeSameWire } from "./encode-request.ts";
import { readCheckedBody, ReadRequest } from "./read-request.ts";
import { splitBetaNames } from "./beta-names.ts";
import type { UpstreamRequest } from "../../wire/upstream-request.ts";
import { JsonDocument } from "../../json/json-document.ts";
import { estimateDocument } from "../../wire/anthropic-messages/estimate-tokens.ts";
import { wireBRequests } from "../../wire/anthropic-messages/request-side.ts";

/** Counting writes no bound: a messages body without `max_tokens` goes as it is. */
const countSide = { ...wireBRequests, path: "/messages/count_tokens", editBody: () => {} };

/**
 * Reads a `count_tokens` body: a messages body that needs no output bound, whatever bound it has.
 * Thinking is not a reason to refuse here, because nothing is generated.
 */
export function readCountTokensRequest(input: ChatRequestInput): ChatRequest | Refusal {
  const doc = readCheckedBody(countSide, input.body);
  if (!(doc instanceof JsonDocument)) return doc;
  const bound = { tokens: outputTokensDefault, sent: false };
  return new ReadRequest({ side: countSide, doc, bound, betas: splitBetaNames(input.betaHeader) });
}

/** Has this deployment's wire a route that counts? */
export function countsTokens(deployment: Deployment): boolean {
  return deployment.wire === countSide.wire;
}

/** The request that asks a wire_b deployment to count for itself. */
export function encodeCountTokens(request: ChatRequest, deployment: Deployment): UpstreamRequest {
  assert(request instanceof ReadRequest, "a count request is one that readCountTokensRequest made");
  assert(countsTokens(deployment), "only a wire_b deployment counts tokens");
  return encodeSameWire(countSide, request, deployment);
}

/** A guess at the input tokens of a count request, where no provider is asked. */
export function estimateTokens(request: ChatRequest): number {
  assert(request instanceof ReadRequest, "a count request is one that readCountTokensRequest made");
  return estimateDocument(request.doc);
}
