import type { Attempt, RequestRow, Tokens, UsageFigures } from "../../api/contract.ts";
import {
  REQUEST_STATUSES,
  type RequestStatus,
  toRequestStatus,
} from "../../../../src/kernel/core/request-status.ts";
import type { Tone } from "../../ui/badge.tsx";

export interface Ending {
  readonly word: string;
  readonly tone: Tone;
  readonly detail: string | undefined;
}

const TONES: Readonly<Record<RequestStatus, Tone>> = {
  succeeded: "ok",
  rejected_by_gateway: "warn",
  rejected_by_provider: "warn",
  failed: "bad",
  cancelled: "quiet",
  in_flight: "quiet",
};

export function endingOfRequest(request: RequestRow): Ending {
  return ending(request.status, request);
}

/** The badge of an attempt: the one that a request with only this attempt would have. */
export function endingOfAttempt(attempt: Attempt): Ending {
  const { outcome, error_class: errorClass } = attempt;
  return ending(toRequestStatus({ attempts: 1, outcome, errorClass }), attempt);
}

function ending(
  status: RequestStatus,
  { outcome, error_class }: Pick<RequestRow, "outcome" | "error_class">,
): Ending {
  const detail = DETAILS[outcome] ?? error_class ?? undefined;
  return {
    word: REQUEST_STATUSES[status].label,
    tone: TONES[status],
    detail: status === "cancelled" ? undefined : detail,
  };
}

const DETAILS: Readonly<Partial<Record<RequestRow["outcome"], string>>> = {
  timeout: "timed out",
  reset: "connection lost",
  stream_died: "answer broke off",
  unknown_after_crash: "outcome unknown",
  lost_in_restore: "lost in a restore",
};

export function inAndOut(tokens: Tokens): { readonly in: number; readonly out: number } {
  return {
    in: tokens.prompt + tokens.cached_prompt + tokens.cache_write,
    out: tokens.completion + tokens.internal_reasoning,
  };
}

/** Counts requests that the gateway or a provider rejected. They do not count as failures. */
export function countRejected({ by_status }: Pick<UsageFigures, "by_status">): number {
  return by_status.rejected_by_gateway + by_status.rejected_by_provider;
}

export function settlementLabel(settlement: string | null): string {
  if (settlement === null) return "Not settled yet.";
  return SETTLEMENTS[settlement] ?? `Settled as ${settlement}.`;
}
const SETTLEMENTS: Readonly<Record<string, string>> = {
  reported: "Charged for the usage the provider reported.",
  partial: "Charged for the usage the provider had reported when the stream ended.",
  none: "The provider reported no usage, so nothing was charged.",
  unknown_after_crash: "The outcome was lost in a crash, so the reserved amount was charged.",
};
