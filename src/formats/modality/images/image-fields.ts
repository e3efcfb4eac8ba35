import type { JsonDocument, JsonNode } from "../../../kernel/index.ts";
import { problem, type Problem } from "../../wire/fields/check-shape.ts";

/** One member of an image request's body. */
export interface ImageField {
  readonly key: JsonNode;
  readonly value: JsonNode;
}

/** The members of the body by name, in the order in which they were sent. */
export type ImageFields = ReadonlyMap<string, ImageField>;

/** What the gateway reads itself: never checked against a listing. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "model", "prompt", "provider", "route", "models", "transforms", "stream", "partial_images",
  "response_format",
]); // prettier-ignore

/**
 * Fields of a caller's own book-keeping: accepted from every client, sent on where a listing has
 * them.
 */
const CALLERS_NOTES: ReadonlySet<string> = new Set([
  "user",
  "safety_identifier",
  "metadata",
  "session_id",
]);

/** The body's members; a problem when one is duplicated: the provider might read the other one. */
export function readImageFields(
  doc: JsonDocument,
): { ok: true; fields: ImageFields } | { ok: false; problem: Problem } {
  const fields = new Map<string, ImageField>();
  for (const key of doc.keys(0)) {
    const name = doc.text(key);
    if (fields.has(name)) {
      return { ok: false, problem: problem("is duplicated; send it once", name) };
    }
    fields.set(name, { key, value: doc.valueOf(key) });
  }
  return { ok: true, fields };
}

/** Is this a field that a listing must have? A null counts as absent. */
export function isForListing(doc: JsonDocument, name: string, { value }: ImageField): boolean {
  return !OWN_FIELDS.has(name) && !doc.isNull(value);
}

/** May this field stay behind when the listing does not have it? */
export function isCallersNote(name: string): boolean {
  return CALLERS_NOTES.has(name);
}
