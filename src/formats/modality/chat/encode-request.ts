import type { Deployment } from "../../../catalog/index.ts";
import { type EditedBytes, type Result, Splice, textToken } from "../../../kernel/index.ts";
import type { RequestCodec, TokenCounter, Wire } from "../../wire/contract.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";
import { KEPT_BACK } from "../../wire/fields/common-fields.ts";
import type { ClientRequest, UpstreamRequest } from "../../wire/modality.ts";
import { lostEffort } from "../../wire/neutral/chat-call.ts";
import { lostParameters } from "../../wire/wire-profile.ts";
import type { SameWireDrops } from "./beta-fields.ts";
import { checkBody, ParsedChatRequest } from "./parse-request.ts";
import { asksHourWrites, profileDrops, sameWireDrops } from "./servability.ts";

/** Forwards the client's bytes, with few edits, to a deployment that speaks the client's wire. */
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

/** Translates a request into another wire. `request.decoded().needs.refused` must be empty. */
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
      ...lostParameters(call, request.doc, deployment, codec),
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
  splice.remove([...KEPT_BACK, ...codec.surplusBounds(doc, deployment)]);
  for (const { object, wordIds } of drops.members) splice.removeFrom(object, wordIds);
  for (const { list, item } of drops.items) splice.removeKey(list, item);
  codec.editBody(doc, splice, target);
  return splice.result();
}

export function tokenCounting(wire: Wire): TokenCounting | undefined {
  const { tokenCounter } = wire;
  return tokenCounter && new TokenCounting(wire, tokenCounter);
}

export class TokenCounting {
  readonly wire: Wire;
  readonly counter: TokenCounter;
  readonly #codec: RequestCodec;

  constructor(wire: Wire, counter: TokenCounter) {
    this.wire = wire;
    this.counter = counter;
    // The counting route needs no output bound, so none is written into the body.
    this.#codec = { ...wire.requests, path: counter.path, editBody: () => undefined };
  }

  /** Accepts any output bound or none, because counting generates nothing. */
  parse(client: ClientRequest): Result<{ readonly request: ParsedChatRequest }> {
    const checked = checkBody(this.#codec, client.body);
    if (!checked.ok) return checked;
    const { doc } = checked;
    const request = new ParsedChatRequest(this.wire, client, doc, 0);
    return { ok: true, request };
  }

  isAnsweredBy(deployment: Deployment): boolean {
    return deployment.wire === this.wire.id;
  }

  encode(request: ParsedChatRequest, deployment: Deployment): UpstreamRequest {
    return encodeSameWire(this.#codec, request, deployment);
  }

  estimate(request: ParsedChatRequest): number {
    return this.counter.estimate(request.doc);
  }
}
