import { invalidRequest, type Refusal } from "../../core/refusals.ts";
import { readControls, type ProviderControls } from "../../wire/fields/provider-controls.ts";
import type { Problem } from "../../wire/fields/check-shape.ts";
import { chatVocabulary } from "../../wire/fields/chat-vocabulary.ts";
import { readDroppedParams } from "../../wire/fields/common-fields.ts";
import { JsonDocument } from "../../json/json-document.ts";
import { readJsonObject } from "../../json/read-json-object.ts";
import { wireARequests } from "../../wire/openai-chat/request-side.ts";
import { checkImageBody } from "./check-image-body.ts";
import { type ImageFields, readImageFields } from "./image-fields.ts";
import type { ImageRequest } from "./image-wire.ts";

/** Reads and checks a body of the images route, as far as that is the same for every listing. */
export function readImageRequest(body: Buffer): ReadImageRequest | Refusal {
  const doc = readJsonObject(body, chatVocabulary);
  if (!(doc instanceof JsonDocument)) return doc;
  const fields = readImageFields(doc);
  if ("trail" in fields) return refuse(fields);
  const found = checkImageBody(doc, fields);
  return found === undefined ? new ReadImageRequest(doc, fields) : refuse(found);
}

/** An `ImageRequest` with the body that encoding and the listings' checks read. */
export class ReadImageRequest implements ImageRequest {
  readonly modelId: string;
  readonly stream = false;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  readonly count: number;
  readonly estimatedInputTokens: number;
  readonly outputTokens = 0;
  readonly doc: JsonDocument;
  readonly fields: ImageFields;

  constructor(doc: JsonDocument, fields: ImageFields) {
    const count = fields.get("n");
    this.modelId = textOf(doc, fields, "model");
    this.controls = readControls(doc);
    this.droppedParams = readDroppedParams(doc);
    this.count = count === undefined || doc.isNull(count.value) ? 1 : doc.number(count.value);
    this.estimatedInputTokens = doc.body.length;
    this.doc = doc;
    this.fields = fields;
  }

  /** The format that the caller asks for; empty when it leaves that to the provider. */
  get outputFormat(): string {
    return textOf(this.doc, this.fields, "output_format");
  }
}

function textOf(doc: JsonDocument, fields: ImageFields, name: string): string {
  const field = fields.get(name);
  return field === undefined || !doc.isString(field.value) ? "" : doc.text(field.value);
}

function refuse({ trail, message }: Problem): Refusal {
  return invalidRequest(`${wireARequests.renderPath(trail)} ${message}`);
}
