import {
  FALSE_KIND,
  IMAGE_PROMPT_CHARS_MAX,
  IMAGES_PER_REQUEST_MAX,
  type JsonDocument,
  type JsonNode,
  NUMBER_KIND,
  readJsonObject,
  type Result,
} from "../../../kernel/index.ts";
import { chatVocabulary } from "../../wire/fields/chat-vocabulary.ts";
import {
  type Check,
  isFilledText,
  isInteger,
  isObject,
  isProblem,
  isText,
  optional,
  type Problem,
  problem,
  refuseProblem,
  under,
} from "../../wire/fields/check-shape.ts";
import { checkProvider, ParsedBody } from "../../wire/fields/common-fields.ts";
import { findForbidden } from "../../wire/fields/forbidden-fields.ts";
import type { CallRequest } from "../../wire/modality.ts";

export function parseImageRequest(body: Buffer): Result<{ readonly request: ParsedImageRequest }> {
  const read = readJsonObject(body, chatVocabulary);
  if (!read.ok) return read;
  const { doc } = read;
  const fields = readImageFields(doc);
  if (isProblem(fields)) return refuseProblem(fields);
  const found = checkImageBody(doc, fields);
  if (found !== undefined) return refuseProblem(found);
  return { ok: true, request: new ParsedImageRequest(doc, fields) };
}

/** A checked image request. `servabilityProblem` checks the fields that depend on the listing. */
export class ParsedImageRequest extends ParsedBody implements CallRequest {
  readonly stream = false;
  /** The number of images that the client wants, 1 to 4. */
  readonly count: number;
  /** One token per byte of the body. */
  readonly estimatedInputTokens: number;
  /** 0, because the output tokens of images are known only when the provider reports them. */
  readonly outputTokens = 0;
  readonly fields: ImageFields;

  constructor(doc: JsonDocument, fields: ImageFields) {
    super(doc);
    const count = fields.get("n");
    this.fields = fields;
    this.count = count === undefined || doc.isNull(count) ? 1 : doc.number(count);
    this.estimatedInputTokens = doc.body.length;
  }

  /** The client's `output_format`; empty if the provider may choose. */
  get outputFormat(): string {
    return this.readText("output_format");
  }

  /** Reads a number as its text, because a listing's value `2` may be sent as either. */
  readText(name: string): string {
    const node = this.fields.get(name);
    if (node === undefined) return "";
    if (this.doc.kind(node) === NUMBER_KIND) return String(this.doc.number(node));
    return this.doc.isString(node) ? this.doc.text(node) : "";
  }
}

/** Fields in which other image APIs accept pictures. They are refused. */
// prettier-ignore
const IMAGE_INPUTS = [
  "image", "images", "image_url", "image_urls", "input_image", "input_reference",
  "input_references", "mask", "reference_images",
] as const;

const unstreamed: Check = (doc, node) =>
  doc.kind(node) === FALSE_KIND
    ? undefined
    : problem("must be false or left out: images come in one whole answer");

const noPartialImages: Check = (doc, node) =>
  doc.kind(node) === NUMBER_KIND && doc.number(node) === 0
    ? undefined
    : problem("must be 0 or left out: images come in one whole answer");

const base64Only: Check = (doc, node) =>
  doc.isString(node) && doc.text(node) === "b64_json"
    ? undefined
    : problem('must be "b64_json" or left out: images come inside the answer, never as a url');

const noImageInput: Check = () =>
  problem("is not accepted: this route makes images from a text alone; remove it");

const prompt: Check = (doc, node) => {
  // Each character has at least one byte, so a text with few enough bytes needs no counting.
  const found = isFilledText(doc, node);
  const bytes = doc.end(node) - doc.start(node) - 2;
  if (found !== undefined || bytes <= IMAGE_PROMPT_CHARS_MAX) return found;
  const chars = countCharacters(doc.text(node));
  if (chars <= IMAGE_PROMPT_CHARS_MAX) return undefined;
  return problem(`has ${chars} characters; shorten it to at most ${IMAGE_PROMPT_CHARS_MAX}`);
};

const count: Check = (doc, node) =>
  isInteger(doc, node) === undefined &&
  doc.number(node) >= 1 &&
  doc.number(node) <= IMAGES_PER_REQUEST_MAX
    ? undefined
    : problem(`must be a whole number from 1 to ${IMAGES_PER_REQUEST_MAX}`);

/**
 * The field checks that do not depend on the listing, in this order. Null means absent, except for
 * `model` and `prompt`, which are required.
 */
const CHECKS: readonly (readonly [string, Check])[] = [
  ["provider", optional(checkProvider)],
  ["model", isFilledText],
  ["stream", optional(unstreamed)],
  ["partial_images", optional(noPartialImages)],
  ["response_format", optional(base64Only)],
  ["prompt", prompt],
  ["n", optional(count)],
  ...IMAGE_INPUTS.map((name) => [name, optional(noImageInput)] as const),
  ["user", optional(isText)],
  ["safety_identifier", optional(isText)],
  ["session_id", optional(isText)],
  ["metadata", optional(isObject)],
];

const REQUIRED: ReadonlySet<string> = new Set(["model", "prompt"]);

function checkImageBody(doc: JsonDocument, fields: ImageFields): Problem | undefined {
  const forbidden = findForbidden(doc);
  if (forbidden !== undefined) return forbidden;
  for (const [name, check] of CHECKS) {
    const node = fields.get(name);
    if (node === undefined) {
      if (REQUIRED.has(name)) return problem("is missing; add it", name);
      continue;
    }
    const found = check(doc, node);
    if (found !== undefined) return under(name, found);
  }
  return undefined;
}

/** Counts a surrogate pair as one character. */
function countCharacters(text: string): number {
  let characters = 0;
  for (const _character of text) characters += 1;
  return characters;
}

/** The request's top-level fields by name, in the client's order. */
type ImageFields = ReadonlyMap<string, JsonNode>;

/** Fields that the gateway handles itself. `findUnlistedField` does not check them. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "model", "prompt", "provider", "route", "models", "transforms", "stream", "partial_images",
  "response_format",
]); // prettier-ignore

/** A duplicate field is refused: the provider might read another value than the gateway. */
function readImageFields(doc: JsonDocument): ImageFields | Problem {
  const fields = new Map<string, JsonNode>();
  for (const key of doc.keys(0)) {
    const name = doc.text(key);
    if (fields.has(name)) return problem("is duplicated; send it once", name);
    fields.set(name, doc.valueOf(key));
  }
  return fields;
}

/** True if `findUnlistedField` checks the field. Null counts as absent. */
export function isForListing(doc: JsonDocument, name: string, node: JsonNode): boolean {
  return !OWN_FIELDS.has(name) && !doc.isNull(node);
}
