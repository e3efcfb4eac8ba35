import {
  IMAGE_PROMPT_CHARS_MAX,
  IMAGES_PER_REQUEST_MAX,
  FALSE_KIND,
  type JsonDocument,
  NUMBER_KIND,
} from "../../../kernel/index.ts";
import {
  type Check,
  isFilledText,
  isInteger,
  isObject,
  isText,
  optional,
  problem,
  type Problem,
  under,
} from "../../wire/fields/check-shape.ts";
import { checkProvider } from "../../wire/fields/provider-controls.ts";
import { findCredential, refuseForbidden } from "../../wire/fields/forbidden-fields.ts";
import type { ImageFields } from "./image-fields.ts";

/** Where other image routes take pictures. */
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
  // A character has at least one byte: only a text that may be too long is counted.
  const found = isFilledText(doc, node);
  if (found !== undefined || doc.end(node) - doc.start(node) - 2 <= IMAGE_PROMPT_CHARS_MAX)
    return found;
  const chars = charactersOf(doc.text(node));
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
 * Fields whose meaning is the same whatever the listing, in the order in which they are checked.
 * Null means an absent field, but not for the two that every request has.
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

/** The first thing that is wrong with a body of the images route, whichever provider serves it. */
export function checkImageBody(doc: JsonDocument, fields: ImageFields): Problem | undefined {
  for (const name of fields.keys()) {
    const found = refuseForbidden(name);
    if (found !== undefined) return found;
  }
  const credential = findCredential(doc);
  if (credential !== undefined) return credential;
  for (const [name, check] of CHECKS) {
    const field = fields.get(name);
    if (field === undefined) {
      if (REQUIRED.has(name)) return problem("is missing; add it", name);
      continue;
    }
    const found = check(doc, field.value);
    if (found !== undefined) return under(name, found);
  }
  return undefined;
}

/** Characters as a reader counts them: a pair of surrogates is one. */
function charactersOf(text: string): number {
  let characters = 0;
  for (const _character of text) characters += 1;
  return characters;
}
