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
  /** The listing declares an envelope, but the body has no readable one. */
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
  // A body that is not JSON, such as an HTML page, may come from a proxy, so it is not quoted.
  return { ...readProviderErrorText(body), message: "" };
}

/**
 * The message of an envelope can contain the model's own error, which is again JSON:
 * `AiError: {"error":{"message":"…"}} (request id)`.
 */
export function envelopeWording(value: unknown, inside = 0): ProviderErrorText {
  const outer = extractErrorText(value);
  const inner = inside < ENVELOPES_MAX ? nestedIn(outer.message) : undefined;
  if (inner === undefined) {
    return { ...outer, message: outer.message.replace(/^(?:(?:AiError|Ai): ?){1,4}/, "") };
  }
  const nested = envelopeWording(inner, inside + 1);
  return {
    codes: [...outer.codes, ...nested.codes],
    message: nested.message,
    all: `${outer.all}\n${nested.all}`,
    param: nested.param,
    flagged: outer.flagged || nested.flagged,
  };
}

/** Maximum depth of errors inside the message of another error; known providers nest one. */
const ENVELOPES_MAX = 2;

const PREFIX_CHARS_MAX = 64;

function nestedIn(message: string): Fields | undefined {
  const start = message.indexOf("{");
  if (start === -1 || start > PREFIX_CHARS_MAX) return undefined;
  const nested = tryParse(message.slice(start, message.lastIndexOf("}") + 1));
  return asObject(nested?.value);
}

const ENVELOPE_CODES: readonly (readonly [status: number, codes: readonly string[]])[] = [
  [400, ["3003", "5004", "5006", "5007", "6003", "7000"]],
  [401, ["10000"]],
  [403, ["3023", "3041", "5016", "5018"]],
  [404, ["3042"]],
  [408, ["3007", "3008"]],
  [413, ["3006", "5021"]],
  [429, ["3036", "3040", "4006"]],
];

export function findEnvelopeStatus(errorText: ProviderErrorText): number | undefined {
  const statusOf = (code: string): number | undefined =>
    ENVELOPE_CODES.find(([, codes]) => codes.includes(code))?.[0];
  return errorText.codes.map(statusOf).find((status) => status !== undefined);
}
