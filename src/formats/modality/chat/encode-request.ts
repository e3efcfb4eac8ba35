import type { Deployment } from "../../../catalog/index.ts";
import { type EditedBytes, Splice, textToken } from "../../../kernel/index.ts";
import { KEPT_BACK } from "../../wire/fields/common-fields.ts";
import { lostEffort } from "../../wire/neutral/effort.ts";
import { lostParameters } from "../../wire/wire-profile.ts";
import type { RequestCodec } from "../../wire/contract.ts";
import type { UpstreamRequest } from "../../wire/modality.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";
import { type SameWireDrops } from "./dropped-fields.ts";
import type { ParsedChatRequest } from "./parse-request.ts";
import { asksHourWrites, profileDrops, sameWireDrops } from "./same-wire-drops.ts";

/** The same wire: the client's own bytes with the few edits that the gateway owes. */
export function encodeSameWire(
  codec: RequestCodec,
  request: ParsedChatRequest,
  deployment: Deployment,
): UpstreamRequest {
  const { others } = request.betas;
  const drops = sameWireDrops(request, deployment);
  return {
    path: codec.path,
    headers: codec.headers(request.betas.kept),
    body: splicedBody(codec, drops, { request, deployment }),
    ...(asksHourWrites(request, deployment) && { asksHourWrites: true as const }),
    droppedParams: [
      ...request.droppedParams,
      ...drops.names,
      ...profileDrops(request, deployment),
      ...others,
    ],
  };
}

/** Another wire: decoded and written anew. Only for requests whose translation refuses nothing. */
export function encodeAcross(
  codec: RequestCodec,
  request: ParsedChatRequest,
  deployment: Deployment,
): UpstreamRequest {
  const { call, needs } = request.decoded();
  const { kept, others } = request.betas;
  return {
    path: codec.path,
    headers: codec.headers([]),
    body: codec.encodeCall(call, { request, deployment }),
    droppedParams: [
      ...request.droppedParams,
      ...needs.dropped,
      ...lostEffort(call, deployment),
      ...lostParameters(call, request.doc, { target: deployment, userField: codec.userField }),
      ...kept,
      ...others,
    ],
  };
}

function splicedBody(
  codec: RequestCodec,
  drops: SameWireDrops,
  target: { readonly request: ParsedChatRequest; readonly deployment: Deployment },
): EditedBytes {
  const { request, deployment } = target;
  const { doc } = request;
  const splice = new Splice(doc);
  if (deployment.upstreamModelId !== request.modelId) {
    splice.replace(doc.member(0, word.model), textToken(deployment.upstreamModelId));
  }
  splice.remove([...KEPT_BACK, ...codec.surplusBounds(doc, deployment), ...drops.words]);
  for (const { object, wordIds } of drops.inside) splice.removeFrom(object, wordIds);
  codec.editBody(doc, splice, target);
  return splice.result();
}
