import type { DecisionsListing } from "../../../catalog/index.ts";
import { asObject, tryParse } from "../../../kernel/index.ts";
import {
  type ProviderErrorText,
  readProviderErrorText,
  extractErrorText,
} from "../../wire/failure/provider-message.ts";

type Fields = Readonly<Record<string, unknown>>;

export type OpenedEnvelope =
  | { readonly kind: "body"; readonly body: Fields }
  | { readonly kind: "refused"; readonly errorText: ProviderErrorText }
  /** The listing declares an envelope, but the body has none. */
  | { readonly kind: "unreadable" };

/** Unwraps the envelope that the listing declares. Without one, returns the body unchanged. */
export function openEnvelope(
  value: Fields,
  envelope: DecisionsListing["envelope"],
): OpenedEnvelope {
  if (envelope === undefined) return { kind: "body", body: value };
  if (value["success"] === false) return { kind: "refused", errorText: envelopeWording(value) };
  const body = value["success"] === true ? asObject(value["result"]) : undefined;
  return body === undefined ? { kind: "unreadable" } : { kind: "body", body };
}

export function readDecisionWording(body: Buffer): ProviderErrorText {
  const parsed = tryParse(body.toString("utf8").trim());
  if (parsed !== undefined) return envelopeWording(parsed.value);
  // The text of an HTML page is a proxy's.
  return { ...readProviderErrorText(body), message: "" };
}

/**
 * A model behind an envelope writes its own error, again JSON, into the envelope's message:
 * `AiError: {"error":{"message":"…"}} (request id)`.
 */
export function envelopeWording(value: unknown, inside = 0): ProviderErrorText {
  const outer = extractErrorText(value);
  const inner = inside < ENVELOPES_MAX ? nestedIn(outer.message) : undefined;
  if (inner === undefined) return { ...outer, message: withoutPrefix(outer.message) };
  const nested = envelopeWording(inner, inside + 1);
  return {
    codes: [...outer.codes, ...nested.codes],
    message: nested.message,
    all: `${outer.all}\n${nested.all}`,
    param: nested.param,
    flagged: outer.flagged || nested.flagged,
  };
}

/** Maximum number of errors read from inside the message of another; known providers nest one. */
const ENVELOPES_MAX = 2;

const PREFIX_CHARS_MAX = 64;

function nestedIn(message: string): Fields | undefined {
  const start = message.indexOf("{");
  if (start === -1 || start > PREFIX_CHARS_MAX) return undefined;
  const nested = tryParse(message.slice(start, message.lastIndexOf("}") + 1));
  return asObject(nested?.value);
}

function withoutPrefix(message: string): string {
  return message.replace(/^(?:(?:AiError|Ai): ?){1,4}/, "");
}

const STATUS_OF_ENVELOPE_CODE: ReadonlyMap<string, number> = new Map(
  Object.entries({
    "3003": 400,
    "5004": 400,
    "5006": 400,
    "5007": 400,
    "6003": 400,
    "7000": 400,
    "10000": 401,
    "3023": 403,
    "3041": 403,
    "5016": 403,
    "5018": 403,
    "3042": 404,
    "3007": 408,
    "3008": 408,
    "3006": 413,
    "5021": 413,
    "3036": 429,
    "3040": 429,
    "4006": 429,
  }),
);

export function findEnvelopeStatus(errorText: ProviderErrorText): number | undefined {
  return errorText.codes.map((code) => STATUS_OF_ENVELOPE_CODE.get(code)).find(Boolean);
}
