import {
  invalidRequest,
  refused,
  type Refused,
  type Result,
  type JsonDocument,
  readJsonObject,
} from "../../../kernel/index.ts";
import type { CallRequest } from "../../wire/modality.ts";
import { chatVocabulary } from "../../wire/fields/chat-vocabulary.ts";
import { openaiChat } from "../../wire/openai-chat/index.ts";
import type { Problem } from "../../wire/fields/check-shape.ts";
import { type ProviderControls, readControls } from "../../wire/fields/provider-controls.ts";
import { readDroppedParams } from "../../wire/fields/common-fields.ts";
import { checkImageBody } from "./check-image-body.ts";
import { type ImageFields, readImageFields } from "./image-fields.ts";

/** Reads and checks a body of the images route, as far as that is the same for every listing. */
export function parseImageRequest(body: Buffer): Result<{ readonly request: ParsedImageRequest }> {
  const read = readJsonObject(body, chatVocabulary);
  if (!read.ok) return read;
  const { doc } = read;
  const members = readImageFields(doc);
  if (!members.ok) return refuse(members.problem);
  const { fields } = members;
  const found = checkImageBody(doc, fields);
  if (found !== undefined) return refuse(found);
  return { ok: true, request: new ParsedImageRequest(doc, fields) };
}

/** An image request whose shape was checked; what a listing takes is checked for each deployment. */
export class ParsedImageRequest implements CallRequest {
  readonly modelId: string;
  readonly stream = false;
  readonly controls: ProviderControls;
  readonly droppedParams: readonly string[];
  /** Images asked for: 1 to 4. */
  readonly count: number;
  /** One per UTF-8 byte of the body. */
  readonly estimatedInputTokens: number;
  /** 0: images are not counted as output tokens before they are observed. */
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
    return this.textOf("output_format");
  }

  /** Empty where the caller sent no text of this name. */
  textOf(name: string): string {
    return textOf(this.doc, this.fields, name);
  }
}

function textOf(doc: JsonDocument, fields: ImageFields, name: string): string {
  const field = fields.get(name);
  return field === undefined || !doc.isString(field.value) ? "" : doc.text(field.value);
}

function refuse({ path, message }: Problem): Refused {
  return refused(invalidRequest(`${openaiChat.requests.renderPath(path)} ${message}`));
}
