import type { Provider } from "../../api/contract.ts";
import type { Tone } from "../../ui/badge.tsx";
import { formatShare } from "../../ui/format.ts";

export const PROVIDER_STATUS: Readonly<
  Record<Provider["status"], { word: string; tone: Tone; meaning: string }>
> = {
  healthy: { word: "Healthy", tone: "ok", meaning: "Requests are routed to this provider." },
  cooling: {
    word: "Cooling down",
    tone: "warn",
    meaning: "Recovering: it receives single test requests after failures or a rate limit.",
  },
  open: {
    word: "Circuit open",
    tone: "bad",
    meaning: "It failed too often. Requests go to other providers for now.",
  },
};

/** Labels the share of answers from another model. If it is unknown, names only the time range. */
export function substitutedShare(share: number | null): string {
  if (share === null) return "in the last 24 hours";
  const part = share === 0 ? "under 1%" : formatShare(share);
  return `${part} of answers in 24 hours`;
}

/** Undefined unless the text is an http or https URL: another scheme could run a script. */
export function webAddress(text: string | null): string | undefined {
  if (text === null || !URL.canParse(text)) return undefined;
  return ["https:", "http:"].includes(new URL(text).protocol) ? text : undefined;
}
