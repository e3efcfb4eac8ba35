import type { WireId } from "../../catalog/catalog.ts";
import type { Refusal } from "../../core/refusals.ts";

/** Clients shorten their history when they find this wording, whichever provider was too small. */
const OVERFLOW_WORDS: Readonly<Record<WireId, { readonly sign: RegExp; readonly words: string }>> =
  {
    wire_a: {
      sign: /context_length_exceeded/,
      words: "context_length_exceeded: the request is above the model's maximum context length",
    },
    wire_b: { sign: /prompt is too long/, words: "prompt is too long" },
  };

/** The message of a refusal for clients of `wire`, in an error body and in a stream's last event. */
export function messageFor(wire: WireId, refusal: Refusal): string {
  const { sign, words } = OVERFLOW_WORDS[wire];
  const isMissing = refusal.class === "context_overflow" && !sign.test(refusal.message);
  return isMissing ? `${refusal.message} (${words})` : refusal.message;
}
