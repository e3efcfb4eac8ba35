import type { Deployment, WireId } from "../../catalog/catalog.ts";
import type { JsonDocument, JsonNode } from "../json/json-document.ts";
import type { Splice } from "../json/splice.ts";
import type { ChatCall } from "./chat-call.ts";
import type { Check } from "./check-shape.ts";
import type { CrossingNotes } from "./crossing-notes.ts";
import type { MediaCollector } from "./media-collector.ts";
import type { ReadRequest } from "./read-request.ts";

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
  /** Words of the output bounds that do not go to this deployment. */
  surplusBounds(doc: JsonDocument, deployment: Deployment): readonly number[];
  /** Edits of a same-wire body beside the common ones. */
  editBody(doc: JsonDocument, splice: Splice, target: EncodeTarget): void;
  /** Is this value of a field that sets the provider's price the one that every caller pays? */
  isUsualPrice(field: "service_tier" | "speed", value: string): boolean;
  /** Does the caller run tools of this type, so that they cost tokens and nothing else? */
  isClientTool(doc: JsonDocument, type: JsonNode): boolean;
  /** A guess at the input tokens of a checked body, quick for any length. */
  countTokens(doc: JsonDocument): number;
  /** Request headers upstream; `sameWire` tells whether the client's own headers fit. */
  headers(request: ReadRequest, sameWire: boolean): Readonly<Record<string, string>>;
}

export interface EncodeTarget {
  readonly request: ReadRequest;
  readonly deployment: Deployment;
}
