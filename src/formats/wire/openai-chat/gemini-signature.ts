import { asObject, textOf } from "../../../kernel/index.ts";

/**
 * What the provider takes for a call whose signature is lost (ai.google.dev, thought signatures,
 * read 22 November 2026): without one, a call of the current turn is a 400.
 */
export const STAND_IN_SIGNATURE = "skip_thought_signature_validator";

/** The signature of a call or of a fragment of one; empty: it has none. */
export function readSignature(call: Readonly<Record<string, unknown>>): string {
  const google = asObject(asObject(call["extra_content"])?.["google"]);
  return textOf(google?.["thought_signature"]);
}

/** The member of a call that brings a signature back. */
export function signatureJson(signature: string): string {
  return `{"google":{"thought_signature":${JSON.stringify(signature)}}}`;
}
