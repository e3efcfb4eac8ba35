import type { Deployment, WireId } from "../catalog/catalog.ts";
import type { JsonDocument, JsonNode } from "../json/json-document.ts";
import type { Splice } from "../json/splice.ts";
import type { ChatCall } from "./neutral/chat-call.ts";
import type { Check } from "./fields/check-shape.ts";
import type { CrossingNotes, CrossingNeeds } from "./neutral/crossing-notes.ts";
import type { MediaCollector } from "./neutral/media-collector.ts";
import type { BetaNames, ChatRequest, OutputBound } from "./chat-request.ts";

/** What one chat wire knows about its requests. One value a wire, listed in `registry.ts`. */
export interface RequestSide {
  readonly wire: WireId;
  /** Below the deployment's base URL. */
  readonly path: string;
  /** The whole body: types of every known field, no key twice. */
  readonly checkBody: Check;
  /** A field's place in this wire's own notation: `messages[0].role`, `messages.0.role`. */
  renderPath(trail: readonly (string | number)[]): string;
  findMedia(doc: JsonDocument, media: MediaCollector): void;
  /** Decodes for the other wire; what it cannot say goes into the notes. */
  decodeCall(doc: JsonDocument, notes: CrossingNotes): ChatCall;
  /** The body of a translated call. */
  encodeCall(call: ChatCall, target: EncodeTarget): Buffer;
  /** Names of the output bounds that do not go to this deployment. */
  surplusBounds(doc: JsonDocument, deployment: Deployment): readonly number[];
  /** Edits of a same-wire body beside the common ones. */
  editBody(doc: JsonDocument, splice: Splice, target: EncodeTarget): void;
  /** Is this value of a field that sets the provider's price the one that every caller pays? */
  isUsualPrice(field: "service_tier" | "speed", value: string): boolean;
  /** Does the caller run tools of this type, so that they cost tokens and nothing else? */
  isClientTool(doc: JsonDocument, type: JsonNode): boolean;
  /** A guess at the input tokens of a checked body, quick for any length. */
  countTokens(doc: JsonDocument): number;
  /** Request headers upstream; `sameWire` says whether the client's own headers fit. */
  headers(request: ParsedChatRequest, sameWire: boolean): Readonly<Record<string, string>>;
}

/** A `ChatRequest` with what encoding needs beside it. */
export interface ParsedChatRequest extends ChatRequest {
  readonly doc: JsonDocument;
  readonly bound: OutputBound;
  readonly betas: BetaNames;
  /** What would change the provider's price. */
  pricedFields(): PricedFields;
  /** The call for the other wire; meaningful when nothing is refused. */
  decoded(): DecodedCall;
}

export interface EncodeTarget {
  readonly request: ParsedChatRequest;
  readonly deployment: Deployment;
}

export interface DecodedCall {
  readonly call: ChatCall;
  readonly needs: CrossingNeeds;
}
/** A field of a request that changes what its provider charges. */
export interface PricedField {
  /** Where it is, in the wire's own notation. */
  readonly field: string;
  /** Names under which a listing can declare it. */
  readonly names: readonly string[];
  readonly node: JsonNode;
}

export interface PricedFields {
  /** Without these the answer would be another one: only a listing that declares them serves. */
  readonly refused: readonly PricedField[];
  /** Without these the answer is the same one at the usual price. */
  readonly dropped: readonly (PricedField & { readonly wordId: number })[];
  /** Cache marks that outlive the priced time: the objects that hold the `ttl`. */
  readonly longMarks: readonly JsonNode[];
}
