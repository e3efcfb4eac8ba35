import type { CapabilityDescriptor, Deployment } from "../../../catalog/index.ts";
import { assert, type JsonText, textBytes, textToken } from "../../../kernel/index.ts";
import { findUnlistedField } from "../../wire/fields/accepted-values.ts";
import { upstreamControls } from "../../wire/fields/common-fields.ts";
import type { Unservable, UpstreamRequest } from "../../wire/modality.ts";
import type { ParsedVideoRequest } from "./parse-request.ts";

export function servabilityProblem(
  request: ParsedVideoRequest,
  deployment: Deployment,
): Unservable | undefined {
  const { doc, nodes } = request;
  const { min = 1, max = min } = secondsDescriptor(deployment);
  // The listing's default is checked too, because a default of 0 seconds would reserve nothing.
  const asked = resolveSeconds(request, deployment);
  if (asked < min || asked > max) {
    const sent = request.seconds === undefined ? "missing" : asked;
    const message = `seconds is ${sent}; this model accepts ${min} to ${max}`;
    return { field: "seconds", message };
  }
  const forListing = [...nodes].filter(([name]) => name !== "prompt");
  return findUnlistedField(doc, forListing, deployment);
}

export function resolveSeconds(request: ParsedVideoRequest, deployment: Deployment): number {
  const { default: usual } = secondsDescriptor(deployment);
  const seconds = request.seconds ?? usual;
  assert(seconds !== undefined, "a video listing has a default of seconds");
  return seconds;
}

function secondsDescriptor(
  deployment: Deployment,
): Extract<CapabilityDescriptor, { type: "integer" }> {
  const descriptor = deployment.supportedParameters.get("seconds");
  assert(descriptor?.type === "integer", "a video listing has a descriptor of seconds");
  return descriptor;
}

const headers = { "content-type": "application/json" };

/** The client's values are copied byte for byte, except `seconds`. */
export function encodeVideoRequest(
  request: ParsedVideoRequest,
  deployment: Deployment,
): UpstreamRequest {
  const { doc, nodes } = request;
  const prompt = nodes.get("prompt");
  assert(prompt !== undefined, "a video request has a prompt");
  const members: [string, JsonText][] = [
    ["model", textToken(deployment.upstreamModelId)],
    ["prompt", doc.raw(prompt)],
    // Exactly this number was reserved, and a provider's own default may differ.
    ["seconds", String(resolveSeconds(request, deployment)) as JsonText],
  ];
  for (const [name, node] of nodes) {
    const isTaken = name !== "prompt" && deployment.supportedParameters.has(name);
    if (isTaken) members.push([name, doc.raw(node)]);
  }
  const controls = upstreamControls(doc, deployment);
  if (controls !== undefined) members.push(["provider", controls]);
  const text = members.map(([name, value]) => `${textToken(name)}:${value}`).join(",");
  return {
    path: deployment.videosPath,
    headers,
    body: textBytes(`{${text}}` as JsonText),
    droppedParams: request.droppedParams,
  };
}
