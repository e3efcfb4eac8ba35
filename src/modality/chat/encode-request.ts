import type { Deployment } from "../../catalog/catalog.ts";
import { textToken } from "../../json/json-text.ts";
import { Splice } from "../../json/splice.ts";
import { word } from "../../wire/fields/chat-words.ts";
import { keptBack } from "../../wire/fields/common-fields.ts";
import { lostEffort } from "../../wire/neutral/effort.ts";
import type { ReadRequest } from "./read-request.ts";
import type { EncodeTarget, RequestSide } from "../../wire/request-side.ts";
import { sameWireDrops } from "./same-wire-drops.ts";
import { type SameWireDrops } from "./dropped-fields.ts";
import type { UpstreamRequest } from "../../wire/upstream-request.ts";

/** The same wire: the client's own bytes with the few edits that the gateway owes. */
export function encodeSameWire(
  side: RequestSide,
  request: ReadRequest,
  deployment: Deployment,
): UpstreamRequest {
  const { others } = request.betas;
  const drops = sameWireDrops(request, deployment);
  return {
    path: side.path,
    headers: side.headers(request, true),
    body: splicedBody(side, drops, { request, deployment }),
    droppedParams: [...request.droppedParams, ...drops.names, ...others],
  };
}

/**
 * The other wire: decoded and written anew. Only for requests whose translation refuses nothing.
 */
export function encodeAcross(
  side: RequestSide,
  request: ReadRequest,
  deployment: Deployment,
): UpstreamRequest {
  const { call, needs } = request.decoded();
  const { kept, others } = request.betas;
  return {
    path: side.path,
    headers: side.headers(request, false),
    body: side.encodeCall(call, { request, deployment }),
    droppedParams: [
      ...request.droppedParams,
      ...needs.dropped,
      ...lostEffort(call, deployment),
      ...kept,
      ...others,
    ],
  };
}

function splicedBody(
  side: RequestSide,
  drops: SameWireDrops,
  { request, deployment }: EncodeTarget,
): Buffer {
  const { doc } = request;
  const splice = new Splice(doc);
  if (deployment.upstreamModelId !== request.modelId) {
    splice.replace(doc.member(0, word.model), textToken(deployment.upstreamModelId));
  }
  splice.remove([...keptBack, ...side.surplusBounds(doc, deployment), ...drops.words]);
  for (const { object, wordIds } of drops.inside) splice.removeFrom(object, wordIds);
  side.editBody(doc, splice, { request, deployment });
  return splice.result();
}
