import type { RequestOutcome, Tokens } from "../../../../src/console-api/contract.ts";
import type { Tone } from "../../ui/badge.tsx";

/** How a request or an attempt ended, in a word. */
export const OUTCOMES: Readonly<Record<RequestOutcome, { word: string; tone: Tone }>> = {
  completed: { word: "Completed", tone: "ok" },
  refused: { word: "Refused", tone: "warn" },
  failed: { word: "Failed", tone: "bad" },
  timeout: { word: "Timed out", tone: "bad" },
  reset: { word: "Connection broke", tone: "bad" },
  stream_died: { word: "Ended early", tone: "bad" },
  client_disconnected: { word: "Client disconnected", tone: "warn" },
  in_flight: { word: "In flight", tone: "quiet" },
  unknown_after_crash: { word: "Outcome unknown", tone: "warn" },
  lost_in_restore: { word: "Lost in a restore", tone: "warn" },
};

/** The five counts in two: what went in and what came out. */
export function inAndOut(tokens: Tokens): { readonly in: number; readonly out: number } {
  return {
    in: tokens.prompt + tokens.cached_prompt + tokens.cache_write,
    out: tokens.completion + tokens.internal_reasoning,
  };
}

/** What the customer was charged by. */
export function settlementLabel(settlement: string | null): string {
  if (settlement === null) return "Not settled yet.";
  return SETTLEMENTS[settlement] ?? `Settled as ${settlement}.`;
}
const SETTLEMENTS: Readonly<Record<string, string>> = {
  reported: "Charged for the usage that the provider reported.",
  partial: "Charged for the usage that the provider had reported when the stream ended.",
  none: "The provider reported no usage, so nothing was charged.",
  unknown_after_crash: "The outcome was lost in a crash, so the reserved amount was charged.",
};
