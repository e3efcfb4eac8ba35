import type { Deployment } from "../../../catalog/index.ts";
import { assert, type EditedBytes, Splice, textToken } from "../../../kernel/index.ts";
import { KEPT_BACK } from "../../wire/fields/common-fields.ts";
import { upstreamControls } from "../../wire/fields/deployment-fields.ts";
import type { UpstreamRequest } from "../../wire/modality.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";
import { lowerRequest } from "./lower-request.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";

/** Writes the request for a deployment that can serve it, in the form that its provider takes. */
export function encodeDecision(
  request: ParsedDecisionRequest,
  deployment: Deployment,
): UpstreamRequest {
  const listing = deployment.decisions;
  assert(listing !== undefined, "decisions go to decisions listings");
  assert(request.grammar === listing.wire, "questions go to models that read their grammar");
  return {
    path: listing.path,
    headers,
    body:
      listing.form === "public"
        ? lowerRequest(request, deployment)
        : spliceRequest(request, deployment),
    droppedParams: request.droppedParams,
  };
}

const headers = { "content-type": "application/json" };

/** What is the gateway's, or only says who asks. */
const NOT_FORWARDED = [...KEPT_BACK, word.user, word.metadata, word.session_id];

/** The buyer's own bytes with the few edits that the gateway owes. */
function spliceRequest(
  { doc, modelId }: ParsedDecisionRequest,
  deployment: Deployment,
): EditedBytes {
  const splice = new Splice(doc);
  if (deployment.upstreamModelId !== modelId) {
    splice.replace(doc.member(0, word.model), textToken(deployment.upstreamModelId));
  }
  splice.remove(NOT_FORWARDED);
  const controls = upstreamControls(doc, deployment);
  if (controls !== undefined) splice.insert("provider", controls);
  return splice.result();
}
