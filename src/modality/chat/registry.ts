import { assert } from "../../core/assert.ts";
import { invalidRequest, type Refusal } from "../../core/refusals.ts";
import type { Deployment, WireId } from "../../catalog/catalog.ts";
import type { ChatRequest } from "../../wire/chat-request.ts";
import type { ChatWires } from "../../wire/chat-wire.ts";
import { encodeAcross, encodeSameWire } from "./encode-request.ts";
import { readRequest, ReadRequest } from "./read-request.ts";
import type { RequestSide } from "../../wire/request-side.ts";
import type { UpstreamRequest } from "../../wire/upstream-request.ts";
import { whyUnservable } from "./why-unservable.ts";
import { openAnswer } from "./open-answer.ts";
import { wireARequests } from "../../wire/openai-chat/request-side.ts";
import { wireBRequests } from "../../wire/anthropic-messages/request-side.ts";

/** One line a chat wire. */
const requestSides: Readonly<Record<WireId, RequestSide>> = {
  wire_a: wireARequests,
  wire_b: wireBRequests,
};

/** The chat wires as the folders above see them. */
export const chatWires: ChatWires = {
  readChatRequest: (wire, input) => readRequest(requestSides[wire], input),
  whyUnservable,
  encodeForDeployment,
  openAnswer,
};

function encodeForDeployment(
  request: ChatRequest,
  deployment: Deployment,
): UpstreamRequest | Refusal {
  assert(request instanceof ReadRequest, "a chat request is one that readChatRequest made");
  const side = requestSides[deployment.wire];
  if (deployment.wire === request.wire) return encodeSameWire(side, request, deployment);
  const [refused] = request.crossing().refused;
  if (refused !== undefined) return invalidRequest(refused.message);
  return encodeAcross(side, request, deployment);
}
