import type { Deployment } from "../../../catalog/index.ts";
import { type JsonText, textBytes, textToken } from "../../../kernel/index.ts";
import { findUnlistedField } from "../../wire/fields/accepted-values.ts";
import { upstreamControls } from "../../wire/fields/common-fields.ts";
import type { Unservable, UpstreamRequest } from "../../wire/modality.ts";
import { isForListing, type ParsedImageRequest } from "./parse-request.ts";

/**
 * Copies the prompt and the members that the listing declares, byte for byte. `response_format` is
 * written only if the listing declares `b64_json`: such a provider may answer with URLs without it,
 * and other providers may refuse it.
 */
export function encodeImageRequest(
  request: ParsedImageRequest,
  deployment: Deployment,
): UpstreamRequest {
  const { doc, fields } = request;
  const members = [`"model":${textToken(deployment.upstreamModelId)}`];
  for (const [name, node] of fields) {
    const isTaken = isForListing(doc, name, node) && deployment.supportedParameters.has(name);
    if (name === "prompt" || isTaken) members.push(`${doc.raw(doc.keyOf(node))}:${doc.raw(node)}`);
  }
  if (isOneImageUnsaid(request, deployment)) members.push('"n":1');
  if (takesBase64(deployment)) members.push('"response_format":"b64_json"');
  const controls = upstreamControls(doc, deployment);
  if (controls !== undefined) members.push(`"provider":${controls}`);
  return {
    path: deployment.imagesPath,
    headers: { "content-type": "application/json" },
    body: textBytes(`{${members.join(",")}}` as JsonText),
    droppedParams: [],
  };
}

/** Without `n`, one image is reserved, so `"n":1` is written if the listing's default differs. */
function isOneImageUnsaid({ doc, fields }: ParsedImageRequest, deployment: Deployment): boolean {
  const sent = fields.get("n");
  if (sent !== undefined && !doc.isNull(sent)) return false;
  const descriptor = deployment.supportedParameters.get("n");
  if (
    descriptor?.type === "integer" ||
    descriptor?.type === "range" ||
    descriptor?.type === "enum"
  ) {
    return Number(descriptor.default ?? 1) !== 1;
  }
  return false;
}

function takesBase64({ supportedParameters }: Deployment): boolean {
  const descriptor = supportedParameters.get("response_format");
  return descriptor?.type === "enum" && descriptor.values.includes("b64_json");
}

export function servabilityProblem(
  { doc, fields }: ParsedImageRequest,
  deployment: Deployment,
): Unservable | undefined {
  const forListing = [...fields].filter(([name, node]) => isForListing(doc, name, node));
  return findUnlistedField(doc, forListing, deployment);
}
