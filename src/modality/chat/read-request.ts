import { invalidRequest, refusal, type Refusal } from "../../core/refusals.ts";
import type { WireId } from "../../catalog/catalog.ts";
import { absent, JsonDocument } from "../../json/json-document.ts";
import { readJsonObject } from "../../json/read-json-object.ts";
import { findBetaFields } from "./beta-fields.ts";
import { FORBIDDEN_KEYS, type KeyRules } from "../../json/scan-json.ts";
import { splitBetaNames } from "./beta-names.ts";
import type { BetaNames, OutputBound } from "../../wire/chat-request.ts";
import { CrossingNotes, type CrossingNeeds } from "../../wire/neutral/crossing-notes.ts";
import { MediaCollector, type MediaPart } from "../../wire/neutral/media-collector.ts";
import { readControls, type ProviderControls } from "../../wire/fields/provider-controls.ts";
import type { ChatRequestInput } from "../../wire/chat-wire.ts";
import { chatWords, word } from "../../wire/fields/chat-words.ts";
import { readDroppedParams } from "../../wire/fields/common-fields.ts";
import { readOutputBound } from "./output-bound.ts";
import { findPricedFields } from "../../wire/price-guard.ts";
import type {
  PricedFields,
  DecodedCall,
  ParsedChatRequest,
  RequestSide,
} from "../../wire/request-side.ts";
import type { SameWireDrops } from "./dropped-fields.ts";

/** Reads and checks a body that came on this wire; see `ChatWires.readChatRequest`. */
export function readRequest(side: RequestSide, input: ChatRequestInput): ReadRequest | Refusal {
  const doc = readCheckedBody(side, input.body);
  if (!(doc instanceof JsonDocument)) return doc;
  const bound = readOutputBound(doc);
  if (!("tokens" in bound)) return bound;
  return new ReadRequest({ side, doc, bound, betas: splitBetaNames(input.betaHeader) });
}

/**
 * Schemas and the arguments of calls have names of the customer's own, which the gateway moves as
 * bytes and never makes objects of.
 */
const keyRules: KeyRules = {
  forbidden: FORBIDDEN_KEYS,
  freeData: [
    ["tools", "", "function", "parameters"],
    ["functions", "", "parameters"],
    ["response_format", "json_schema", "schema"],
    ["tools", "", "input_schema"],
    ["tools", "", "input_examples"],
    ["output_config", "format", "schema"],
    ["messages", "", "content", "", "input"],
  ],
};

/** The body with its types checked, or the 400 that names the field. */
export function readCheckedBody(side: RequestSide, body: Buffer): JsonDocument | Refusal {
  const doc = readJsonObject(body, chatWords, keyRules);
  if (!(doc instanceof JsonDocument)) return doc;
  const found = side.checkBody(doc, 0);
  if (found === undefined) return refuseThread(doc) ?? doc;
  return invalidRequest(`${side.renderPath(found.trail)} ${found.message}`);
}

/**
 * A thread leaves its history with one provider, which no other could continue. The official tool
 * runner knows this code and continues with the whole history.
 */
function refuseThread(doc: JsonDocument): Refusal | undefined {
  if (doc.present(0, word.thread) === absent) return undefined;
  const message =
    "thread is not accepted: the gateway stores no conversations; send the whole " +
    "conversation without it";
  return refusal("invalid_request", message, { errorCode: "thread_unsupported_request" });
}

export interface CheckedParts {
  readonly side: RequestSide;
  readonly doc: JsonDocument;
  readonly bound: OutputBound;
  readonly betas: BetaNames;
}

/** A `ChatRequest` with what encoding needs beside it. */
export class ReadRequest implements ParsedChatRequest {
  readonly wire: WireId;
  readonly body: Buffer;
  readonly modelId: string;
  readonly stream: boolean;
  readonly wantsUsageChunk: boolean;
  readonly usesFunctions: boolean;
  readonly outputTokens: number;
  declare readonly temperature?: number;
  readonly mediaParts: readonly MediaPart[];
  readonly estimatedInputTokens: number;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly doc: JsonDocument;
  readonly bound: OutputBound;
  readonly betas: BetaNames;
  readonly #side: RequestSide;
  #decoded: DecodedCall | undefined;
  #priced: PricedFields | undefined;
  #betaFields: SameWireDrops | undefined;

  constructor({ side, doc, bound, betas }: CheckedParts) {
    const media = new MediaCollector();
    side.findMedia(doc, media);
    const temperature = doc.present(0, word.temperature);
    const stream = doc.member(0, word.stream);
    this.wire = side.wire;
    this.body = doc.body;
    this.modelId = doc.text(doc.member(0, word.model));
    this.stream = stream >= 0 && doc.isTrue(stream);
    this.wantsUsageChunk = readWantsUsageChunk(doc);
    this.usesFunctions = doc.present(0, word.functions) !== absent;
    this.outputTokens = bound.tokens;
    if (temperature >= 0) this.temperature = doc.number(temperature);
    this.mediaParts = media.parts;
    this.estimatedInputTokens = doc.body.length + media.extraTokens;
    this.controls = readControls(doc);
    this.droppedParams = readDroppedParams(doc);
    this.doc = doc;
    this.bound = bound;
    this.betas = betas;
    this.#side = side;
  }

  /** What would change the provider's price; searched once. */
  pricedFields(): PricedFields {
    this.#priced ??= findPricedFields(this.doc, this.#side);
    return this.#priced;
  }

  /** What only a dropped name of the beta header opens; searched once. */
  betaFields(): SameWireDrops {
    this.#betaFields ??= findBetaFields(this.doc, this.betas.others);
    return this.#betaFields;
  }

  countInputTokens(): number {
    return this.#side.countTokens(this.doc);
  }

  crossing(): CrossingNeeds {
    return this.decoded().needs;
  }

  /** The call for the other wire; meaningful when nothing is refused. Decoded once. */
  decoded(): DecodedCall {
    this.#decoded ??= this.#decode();
    return this.#decoded;
  }

  #decode(): DecodedCall {
    const notes = new CrossingNotes();
    const call = this.#side.decodeCall(this.doc, notes);
    return { call, needs: notes.needs() };
  }
}

function readWantsUsageChunk(doc: JsonDocument): boolean {
  const options = doc.present(0, word.stream_options);
  if (options === absent || !doc.isObject(options)) return false;
  const asked = doc.member(options, word.include_usage);
  return asked !== absent && doc.isTrue(asked);
}
