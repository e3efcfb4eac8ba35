import type { Deployment } from "../../../catalog/index.ts";
import { assert, type JsonText, textBytes, textToken } from "../../../kernel/index.ts";
import { upstreamControls } from "../../wire/fields/deployment-fields.ts";
import type { UpstreamRequest } from "../../wire/modality.ts";
import type { ParsedVideoRequest } from "./parse-request.ts";
import { secondsOf } from "./servability.ts";

const headers = { "content-type": "application/json" };

/** The job as this deployment is asked for it: what was sent and is listed, byte for byte. */
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
    // Written in full: every provider has a default of its own.
    ["seconds", String(secondsOf(request, deployment)) as JsonText],
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
